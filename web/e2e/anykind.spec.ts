import type { Page } from "@playwright/test";
import { accessible, expect, order, test } from "./anykind";
import { check, looks } from "./look";
import { noServer } from "./stand";

const rows = (page: Page) => page.getByRole("list", { name: "What happened" });
const row = (page: Page, kind: string, label: string) =>
  rows(page).locator(`[data-item=${kind}]`).filter({ hasText: label });
const status = (page: Page) => page.locator("h1 ~ [data-busy]");

test("a run of another kind is shown from its input to its output, and takes its signal", async ({
  page,
  dev,
}) => {
  const x = await order(dev, { article: "lamp", notes: ["long ".repeat(500)] });
  await page.goto(`${dev.url}/ai/runs/${x.id}`);
  await expect(status(page)).toHaveText("Waits for shipped");
  await expect(page.getByLabel("Message to the agent")).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Stop the turn" })).toHaveCount(0);

  const input = page.getByRole("group", { name: "Input" });
  await expect(input).toContainText('"article": "lamp"');
  await expect(input.locator(".hljs-attr", { hasText: "article" })).toBeVisible();
  const whole = page.getByRole("button", { name: /Show all \d+ lines/ });
  await whole.click();
  await expect(page.getByRole("button", { name: "Fold" })).toHaveAttribute("aria-expanded", "true");

  await expect(row(page, "step", "total")).toContainText("completed");
  await expect(row(page, "task", "reserve")).toContainText("completed");
  await expect(row(page, "wait", "one of the signal shipped, a timer")).toContainText("waits");
  const waits = page.getByRole("list", { name: "What the run waits for" });
  await expect(waits).toContainText("one of");
  await expect(waits).toContainText("the signal shipped");
  await expect(waits).toContainText(/a timer until .*\(in 2 d\)/);
  await accessible(page);

  const form = page.getByRole("form", { name: "Signal shipped" });
  await expect(form).toContainText("the parcel has left the house");
  await form.getByRole("button", { name: "Send shipped" }).click();
  await expect(form.getByLabel("carrier")).toBeFocused();
  await expect(form).toContainText("carrier is missing.");
  await expect(form).toContainText("boxes is missing.");
  await form.getByLabel("carrier").fill("post");
  await form.getByLabel("boxes").fill("3");
  await form.getByRole("button", { name: "Send shipped" }).click();
  await expect(status(page)).toHaveText("Completed");
  await expect(page.getByRole("group", { name: "Output" })).toContainText('"carrier": "post"');
  await expect(row(page, "wait", "shipped")).toContainText("woken by signal");
  // Large content is read when its row is opened.
  await row(page, "task", "reserve").getByRole("button").first().click();
  await expect(rows(page).getByRole("group", { name: "Input" })).toContainText("long long");
  await row(page, "signal", "shipped").getByRole("button").first().click();
  await expect(page.getByRole("group", { name: "Value" })).toContainText('"boxes": 3');
  await accessible(page);
});

test("a signal that the kind does not declare is said to be none of its, with the nearest name", async ({
  page,
  dev,
}) => {
  const x = await order(dev, { article: "bowl" });
  await dev.client().executions.signal(x.id, { signalName: "shiped", signalValue: { boxes: 1 } });
  await page.goto(`${dev.url}/ai/runs/${x.id}`);
  const received = row(page, "signal", "shiped");
  await expect(received).toContainText("not declared");
  await received.getByRole("button").first().click();
  await expect(received).toContainText("The kind order does not declare a signal shiped.");
  await expect(received).toContainText("Did you mean shipped?");
  await accessible(page);

  // The run waits for a signal that a newer build of its kind has renamed.
  await page.route("**/kinds?*", async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, body: (await answer.text()).replace('"shipped"', '"shipped2"') });
  });
  await page.route("**/signal", (route) =>
    route.fulfill({ json: { signalId: "s", status: "WAITING", unexpected: true } }),
  );
  await page.reload();
  const form = page.getByRole("form", { name: "Signal shipped" });
  await form.getByRole("button", { name: "Send shipped" }).click();
  await expect(form.getByRole("status")).toContainText("Sent, but nothing may take it");
  await expect(form).toContainText("does not declare a signal shipped. Did you mean shipped2?");
  await accessible(page);
});

test("a form says which required texts are empty, and sends nothing", async ({ page, dev }) => {
  await page.setViewportSize({ width: 390, height: 800 });
  await page.goto(`${dev.url}/ai/runs/new?kind=order`);
  let started = 0;
  await page.route("**/agent-executions", (route) => {
    if (route.request().method() === "POST") started++;
    return route.continue();
  });
  await page.getByLabel("quantity").fill("2");
  await page.getByLabel("price").fill("1.5");
  await page.getByRole("button", { name: "Start the run" }).click();
  await expect(page.getByText("article is missing.")).toBeVisible();
  await expect(page.getByLabel("article")).toBeFocused();
  await expect(page.getByLabel("article")).toBeInViewport();
  const to = page.getByRole("group", { name: "to", exact: true });
  await expect(to.getByLabel("name")).toHaveAttribute("aria-invalid", "true");
  await page.getByLabel("article").fill("bell");
  await page.getByRole("button", { name: "Start the run" }).click();
  await expect(to.getByLabel("name")).toBeFocused();
  await expect(to).toContainText("name is missing.");
  await accessible(page);
  expect(started).toBe(0);
  await to.getByLabel("name").fill("ann");
  await page.getByRole("button", { name: "Start the run" }).click();
  await expect(status(page)).toHaveText("Waits for shipped");
  expect(started).toBe(1);
});

test("the timeline is searched, and its details are opened, by keyboard", async ({ page, dev }) => {
  const x = await order(dev, { article: "table" });
  await page.goto(`${dev.url}/ai/runs/${x.id}`);
  await expect(row(page, "task", "reserve")).toBeVisible();
  await page.keyboard.press("/");
  await expect(page.getByLabel("Search the timeline")).toBeFocused();
  await page.keyboard.type("TASK table");
  await expect(rows(page).getByRole("listitem")).toHaveCount(1);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("group", { name: "Result" })).toContainText("shelf 7");
  await page.getByLabel("Search the timeline").fill("nothing of that");
  await expect(page.getByText("Nothing is like that.")).toBeVisible();
  await page.getByLabel("Search the timeline").fill("");
  await rows(page).getByRole("button").first().focus();
  await page.keyboard.press("ArrowDown");
  await expect(row(page, "task", "reserve").getByRole("button").first()).toBeFocused();
});

test("all bars have one scale", async ({ page, dev }) => {
  const x = await order(dev, { article: "chair" });
  await page.goto(`${dev.url}/ai/runs/${x.id}`);
  await expect(row(page, "wait", "shipped")).toBeVisible();
  const box = async (kind: string) => {
    const bar = rows(page).locator(`[data-item=${kind}] [data-bar]`);
    const [of, track] = [await bar.boundingBox(), await bar.locator("..").boundingBox()];
    return {
      left: (of?.x ?? 0) - (track?.x ?? 0),
      right: (track?.width ?? 0) + (track?.x ?? 0) - (of?.x ?? 0) - (of?.width ?? 0),
    };
  };
  await expect.poll(async () => (await box("wait")).right, "an open wait reaches to now").toBeLessThan(2);
  expect((await box("step")).left).toBeLessThanOrEqual((await box("wait")).left + 1);
});

test("a question is answered with a form of its schema", async ({ page, dev, allowed }) => {
  allowed.push(/400/);
  const x = await order(dev, { article: "vase", gift: true });
  await page.goto(`${dev.url}/ai/runs/${x.id}`);
  await expect(status(page)).toHaveText("Asks");
  const card = page.locator("[data-question=open]");
  await expect(card).toContainText("What shall the card say?");
  await card.getByLabel("text").fill("All the best");
  await card.getByRole("button", { name: "Write JSON" }).click();
  await expect(card.getByLabel("Answer as JSON")).toHaveValue(/All the best/);
  await card.getByLabel("Answer as JSON").fill('{"text": 7}');
  await card.getByRole("button", { name: "Answer" }).click();
  await expect(card).toContainText("got number, want string");
  await expect(card.getByLabel("Answer as JSON")).toBeFocused();
  await card.getByRole("button", { name: "Use the form" }).click();
  await card.getByLabel("text").fill("With love");
  await accessible(page);
  await card.getByRole("button", { name: "Answer" }).click();
  await expect(status(page)).toHaveText("Waits for shipped");
  await row(page, "question", "What shall the card say?").getByRole("button").first().click();
  await expect(page.locator("[data-question=answered]")).toContainText("Answered");
});

test("what needs approval is shown, as of the start of the run, for every kind", async ({ page, dev }) => {
  // biome-ignore lint/suspicious/noThenProperty: the rule has a member of this name
  const rule = { tools: ["reserve"], then: "ask", reason: "Goods are scarce." };
  const x = await order(dev, { article: "harp" }, { approvals: [rule], queue: "attic" });
  await page.goto(`${dev.url}/ai/runs/${x.id}`);
  await expect(page.getByRole("heading", { name: "What needs approval" })).toBeVisible();
  const rules = page.getByRole("list", { name: "Rules" });
  await expect(rules).toContainText("reserve");
  await expect(rules).toContainText("needs an approval");
  await expect(rules).toContainText("Goods are scarce.");
  await accessible(page);
  await dev.client().executions.cancel(x.id);

  const chat = await dev.client().executions.create({
    userPrompt: "hello",
    models: [{ provider: "scripted", modelId: "short" }],
    tools: ["bash"],
    approvals: "ask",
  });
  await page.goto(`${dev.url}/ai/runs/${chat.id}?panel=overview`);
  await expect(rules).toContainText("everything else");
  await accessible(page);

  const free = await order(dev, { article: "flute" });
  await page.goto(`${dev.url}/ai/runs/${free.id}`);
  await expect(status(page)).toHaveText("Waits for shipped");
  await expect(page.getByRole("heading", { name: "What needs approval" })).toHaveCount(0);
});

test("a failed run says why", async ({ page, dev }) => {
  const x = await order(dev, { article: "spoon", quantity: 101 });
  await page.goto(`${dev.url}/ai/runs/${x.id}`);
  await expect(status(page)).toHaveText("Failed");
  await expect(page.getByRole("alert")).toContainText("there are not 101 of spoon");
  await expect(page.getByText("None: the run did not complete.")).toBeVisible();
  await row(page, "task", "reserve").getByRole("button").first().click();
  await expect(rows(page)).toContainText("there are not 101 of spoon");
  await accessible(page);
});

for (const look of looks) {
  test(`${look.theme} and ${look.width}: accessible, and no wider than the screen`, async ({ page, dev }) => {
    await page.emulateMedia({ colorScheme: look.theme, reducedMotion: "reduce" });
    if (look.width === "phone") await page.setViewportSize({ width: 390, height: 800 });
    const x = await order(dev, { article: "lamp", notes: ["fragile"] });
    await page.goto(`${dev.url}/ai/runs/${x.id}`);
    await expect(row(page, "wait", "shipped")).toBeVisible();
    await check(page, "run-order", look);
    await rows(page).scrollIntoViewIfNeeded();
    await row(page, "task", "reserve").getByRole("button").first().click();
    await check(page, "run-timeline", look);
    await page.goto(`${dev.url}/ai/runs`);
    const listed = page.getByRole("listitem").filter({ has: page.locator(`a[href*="${x.id}"]`) });
    await expect(listed).toContainText("Waits for shipped");
    await accessible(page);
    await page.goto(`${dev.url}/ai/runs/new?kind=order`);
    await expect(page.getByLabel("quantity")).toBeVisible();
    await check(page, "new-order", look);
    await page.getByLabel("urgency").selectOption("3");
    await page.getByRole("button", { name: "Add to extras" }).click();
    const extra = page.getByRole("group", { name: "extras 1" });
    await extra.getByLabel("name").fill("bulb");
    await extra.getByLabel("count").fill("0.5");
    await page.getByLabel("Kind of payment").selectOption("invoice");
    await page.getByRole("button", { name: "Start the run" }).click();
    await page.getByLabel("article").fill("lamp");
    await page.getByRole("group", { name: /^payment/ }).scrollIntoViewIfNeeded();
    await page.getByRole("button", { name: "Write JSON" }).scrollIntoViewIfNeeded();
    await check(page, "new-order-lists", look);
  });
}

test("a run with messages shows them, without a field for messages that it does not take", async ({
  page,
  dev,
}) => {
  const x = await order(dev, { article: "mug" });
  await page.goto(`${dev.url}/ai/runs/${x.id}`);
  await page.getByRole("button", { name: "Messages" }).click();
  await expect(page.getByRole("log", { name: "Conversation" })).toContainText("Reserved on shelf 7.");
  await expect(page.getByLabel("Message to the agent")).toHaveCount(0);
  await accessible(page);
  await page.getByRole("button", { name: "Timeline" }).click();
  await expect(row(page, "task", "reserve")).toBeVisible();
  await page.getByRole("button", { name: "Open the side panel" }).click();
  const details = page.getByRole("complementary", { name: "Details of the run" });
  await expect(details).toContainText("one of the signal shipped, a timer");
  await expect(details.getByRole("tab", { name: "Tasks" })).toBeVisible();
  await expect(details.getByRole("tab", { name: "Timings" })).toHaveCount(0);
  await accessible(page);
});

test("of a thousand steps, no more are drawn than are seen, and all are searched", async ({ page, dev }) => {
  const notes = Array.from({ length: 1200 }, (_, i) => `number ${i}.`);
  const x = await order(dev, { article: "many", notes });
  await page.goto(`${dev.url}/ai/runs/${x.id}`);
  const box = page.getByRole("region", { name: "The run" });
  await expect(page.getByText("1203", { exact: true })).toBeVisible();
  await box.evaluate((b) => b.scrollTo(0, b.scrollHeight));
  await expect(row(page, "wait", "shipped")).toBeInViewport();
  expect(await rows(page).getByRole("listitem").count()).toBeLessThan(60);
  await page.getByLabel("Search the timeline").fill("number 777.");
  await expect(rows(page).getByRole("listitem")).toHaveCount(1);
  await expect(page.getByText("1 of 1203")).toBeVisible();
  await expect(row(page, "step", "label · 777")).toBeVisible();
  await row(page, "step", "label · 777").getByRole("button").first().click();
  await expect(rows(page).getByText("Instance", { exact: true })).toBeVisible();
});

test("a run on a queue that nobody serves says so, in both themes and on a phone", async ({ page, dev }) => {
  const x = await order(dev, { article: "bed" }, { queue: "attic" });
  await page.setViewportSize({ width: 390, height: 844 });
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.goto(`${dev.url}/ai/runs/${x.id}`);
    await expect(page.getByText("No worker serves the queue attic")).toBeVisible();
    await expect(page.getByText("Nothing has happened yet.")).toBeVisible();
    await accessible(page);
  }
  const chat = await dev.client().executions.create({
    userPrompt: "hello",
    models: [{ provider: "scripted", modelId: "short" }],
    queue: "cellar",
  });
  await page.goto(`${dev.url}/ai/runs/${chat.id}`);
  await expect(page.getByText("No worker serves the queue cellar")).toBeVisible();
  for (const id of [x.id, chat.id]) await dev.client().executions.cancel(id);
});

test("offline is shown at once, and goes away", async ({ page, dev, context, allowed }) => {
  allowed.push(noServer, /ERR_INTERNET_DISCONNECTED/);
  const x = await order(dev, { article: "cup" });
  await page.goto(`${dev.url}/ai/runs/${x.id}`);
  await expect(status(page)).toHaveText("Waits for shipped");
  await context.setOffline(true);
  await expect(page.getByText("Offline")).toBeVisible({ timeout: 1_500 });
  await accessible(page);
  await context.setOffline(false);
  await expect(page.getByText("Offline")).toHaveCount(0);
});
