import { accessible, expect, test } from "./anykind";

test("a run of a kind is started with a form from its schema, on a phone in the dark", async ({
  page,
  dev,
}) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  await page.goto(`${dev.url}/ai/runs/new`);
  await page.getByLabel("Agent", { exact: true }).selectOption({ label: "order" });
  await expect(page).toHaveURL(/kind=order/);
  await expect(page.getByText("shop")).toBeVisible();
  await accessible(page);

  await page.getByLabel("article").fill("lamp");
  await page.getByLabel("quantity").fill("two");
  await page.getByLabel("price").fill("2.5");
  await page.getByRole("button", { name: "Start the run" }).click();
  await expect(page.getByLabel("quantity")).toBeFocused();
  await expect(page.getByText("quantity must be a whole number.")).toBeVisible();
  await accessible(page);

  await page.getByLabel("quantity").fill("2");
  await page.getByRole("button", { name: "Add to notes" }).click();
  await page.getByLabel("notes 1", { exact: true }).fill("fragile");
  await page.getByRole("group", { name: "to", exact: true }).getByLabel("name").fill("ann");
  await page.getByLabel("Queue").fill("default");
  await page.getByLabel("Metadata").fill("[1]");
  await page.getByRole("button", { name: "Start the run" }).click();
  await expect(page.getByLabel("Metadata")).toBeFocused();
  await page.getByLabel("Metadata").fill('{"ticket": "A-17"}');
  await page.getByRole("button", { name: "Start the run" }).click();
  await expect(page.locator("h1 ~ [data-busy]")).toHaveText("Waits for shipped");
  const x = await dev.client().executions.get(page.url().split("/").at(-1) ?? "");
  expect(x).toMatchObject({
    kind: "order",
    queue: "default",
    metadata: { ticket: "A-17" },
    input: { article: "lamp", quantity: 2, price: 2.5, notes: ["fragile"], to: { name: "ann" } },
  });
  await dev.client().executions.cancel(x.id);
});

test("numbers to choose, lists of objects and alternatives are typed, and arrive exactly", async ({
  page,
  dev,
  allowed,
}) => {
  allowed.push(/400/);
  await page.goto(`${dev.url}/ai/runs/new?kind=order`);
  await page.getByLabel("article").fill("lamp");
  await page.getByLabel("quantity").fill("12345678901234567890");
  await page.getByLabel("price").fill("0.10");
  await page.getByRole("group", { name: "to", exact: true }).getByLabel("name").fill("ann");
  await page.getByLabel("urgency").selectOption("3");
  const start = page.getByRole("button", { name: "Start the run" });
  await start.click();
  await expect(page.getByLabel("quantity")).toBeFocused();
  await expect(page.getByText("more digits than a page can send")).toBeVisible();
  await page.getByLabel("quantity").fill("2");

  const extras = page.getByRole("group", { name: /^extras \(/ });
  const add = extras.getByRole("button", { name: "Add to extras" });
  for (let i = 0; i < 5; i++) await add.click();
  await expect(add).toHaveAttribute("aria-disabled", "true");
  await extras.getByRole("button", { name: "Remove extras 5" }).press("Enter");
  await expect(add).toBeFocused();
  for (const n of [4, 3]) await extras.getByRole("button", { name: `Remove extras ${n}` }).click();
  const extra = (n: number) => page.getByRole("group", { name: `extras ${n}`, exact: true });
  await extra(1).getByLabel("name").fill("bulb");
  await extra(1).getByLabel("count").fill("0");
  await extra(2).getByLabel("name").fill("cable");
  await extra(2).getByLabel("count").fill("two");
  await start.click();
  await expect(extra(2).getByLabel("count")).toBeFocused();
  await expect(extra(2)).toContainText("count must be a whole number.");
  await accessible(page);
  await extra(2).getByLabel("count").fill("2");

  const payment = page.getByRole("group", { name: /^payment \(/ });
  await payment.getByLabel("Kind of payment").selectOption("card");
  await payment.getByLabel("card", { exact: true }).fill("4711");
  await expect(payment.getByLabel("invoice", { exact: true })).toHaveCount(0);
  await payment.getByLabel("Kind of payment").selectOption("invoice");
  await payment.getByLabel("invoice", { exact: true }).fill("ann@example.com");
  await start.click();
  await expect(extra(1).getByLabel("count"), "the server's error is at its member").toBeFocused();
  await expect(extra(1)).toContainText("minimum");

  await page.getByRole("button", { name: "Write JSON" }).click();
  const json = page.getByLabel("input as JSON");
  await json.fill((await json.inputValue()).replace('"count": 0', '"count": 7'));
  await page.getByRole("button", { name: "Use the form" }).click();
  await expect(extra(1).getByLabel("count")).toHaveValue("7");
  await expect(payment.getByLabel("invoice", { exact: true })).toHaveValue("ann@example.com");
  await start.click();
  await expect(page.locator("h1 ~ [data-busy]")).toHaveText("Waits for shipped");
  const x = await dev.client().executions.get(page.url().split("/").at(-1) ?? "");
  expect(x.input).toEqual({
    article: "lamp",
    quantity: 2,
    price: 0.1,
    urgency: 3,
    extras: [
      { name: "bulb", count: 7 },
      { name: "cable", count: 2 },
    ],
    payment: { invoice: "ann@example.com" },
    to: { name: "ann" },
  });
  await dev.client().executions.cancel(x.id);
});

test("what the server refuses is shown at its field, which has the focus", async ({ page, dev, allowed }) => {
  allowed.push(/400/);
  await page.goto(`${dev.url}/ai/runs/new?kind=order`);
  await page.getByRole("button", { name: "Write JSON" }).click();
  const json = page.getByLabel("input as JSON");
  await json.fill('{"article": "lamp", "quantity": "many", "price": 1, "to": {"name": "ann"}}');
  await page.getByRole("button", { name: "Start the run" }).click();
  await expect(page.getByText("input.quantity: got string, want integer").first()).toBeVisible();
  await expect(json).toBeFocused();
  await json.fill('{"article": "lamp", "quantity": 1, "price": 1, "to": {"name": "ann"}}');
  await page.getByLabel("Workspace").fill("../above");
  await page.getByRole("button", { name: "Start the run" }).click();
  await expect(page.getByLabel("Workspace")).toBeFocused();
  await expect(page.getByLabel("Workspace")).toHaveAttribute("aria-invalid", "true");
  await accessible(page);
});

test("models are offered with their prices, and a run can be LOCAL", async ({ page, dev }) => {
  await page.goto(`${dev.url}/ai/runs/new`);
  await page.getByLabel("Provider of model 1").selectOption("anthropic");
  const model = page.getByLabel("Id of model 1");
  const list = page.locator(`datalist[id="${await model.getAttribute("list")}"] option`);
  await expect(list.first()).toHaveText(/^\$[\d.]+ in, \$[\d.]+ out per million tokens$/);
  await model.fill((await list.first().getAttribute("value")) ?? "");
  await expect(page.locator("p").filter({ hasText: /out per million tokens/ })).toBeVisible();
  await accessible(page);
  await page.getByRole("button", { name: "Start the run" }).click();
  await expect(page.getByLabel("Prompt", { exact: true })).toBeFocused();
  await page.getByLabel("Provider of model 1").selectOption("scripted");
  await model.fill("short");
  await page.getByLabel("Prompt", { exact: true }).fill("keep this here");
  await page.getByLabel("Content").selectOption("LOCAL");
  await page.getByRole("button", { name: "Start the run" }).click();
  await expect(page.locator("h1 ~ [data-busy]")).toHaveText("Your turn");
  const x = await dev.client().executions.get(page.url().split("/").at(-1) ?? "");
  expect(x.persistenceMode).toBe("LOCAL");
});
