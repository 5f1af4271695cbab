import { accessible } from "./anykind";
import { expect, start, test } from "./stand";

test.use({ allowed: [/401|403/] });

test("who is not signed in is asked for a key, and then is where the address led", async ({
  page,
  context,
  dev,
}) => {
  await context.clearCookies();
  const x = await start(dev.client(), "short", "only for those who know");
  await page.goto(`${dev.url}/ai/runs/${x.id}?panel=overview`);
  await page.getByLabel("API key").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByText("unknown or revoked")).toBeVisible();
  await page.getByLabel("API key").fill(dev.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { name: "only for those who know" })).toBeVisible();
  await expect(page).toHaveURL(new RegExp(`${x.id}\\?panel=overview$`));
  const readable = await page.evaluate(
    () => JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie,
  );
  expect(readable).not.toContain(dev.key);
  await page.goto(`${dev.url}/ai/settings`);
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByLabel("API key")).toBeVisible();
});

test("a key is made, shown once, used, and revoked", async ({ page, dev }) => {
  await page.goto(`${dev.url}/ai/settings`);
  await page.getByLabel("Name", { exact: true }).fill("laptop");
  await page.getByRole("button", { name: "Make a key" }).click();
  const secret = (await page.locator("code", { hasText: "prd_" }).textContent()) ?? "";
  await page.getByRole("button", { name: "Done" }).click();
  await expect(page.getByText(secret)).toHaveCount(0);
  const list = () =>
    fetch(`${dev.url}/api/orgs/default/agent-executions`, { headers: { Authorization: `Bearer ${secret}` } });
  expect((await list()).status).toBe(200);
  await page.getByRole("button", { name: "Revoke laptop" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByRole("list", { name: "API keys" })).toContainText("revoked");
  await expect.poll(async () => (await list()).status).toBe(401);
});

test("an approver sees questions, decides them, and is led to nothing else", async ({
  page,
  context,
  dev,
}) => {
  const made = await fetch(`${dev.url}/api/orgs/default/keys`, {
    method: "POST",
    headers: { Authorization: `Bearer ${dev.key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "the approver", role: "approver" }),
  });
  const { key } = (await made.json()) as { key: string };
  const x = await dev.client().executions.create({
    userPrompt: "write a note",
    models: [{ provider: "scripted", modelId: "approve" }],
    tools: ["bash"],
    oneShot: true,
    // biome-ignore lint/suspicious/noThenProperty: the rule has a member of this name
    approvals: [{ tools: ["bash"], then: "ask" }],
  });
  await context.clearCookies();
  await page.goto(`${dev.url}/ai`);
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page).toHaveURL(/\/ai\/questions$/);
  await expect(page.getByRole("link", { name: "Runs" })).toHaveCount(0);
  await expect(page.getByRole("link", { name: "New run" })).toHaveCount(0);
  await expect(page).toHaveTitle(/^\(\d+\) Questions/);
  await page.goto(`${dev.url}/ai/runs/${x.id}`); // also after a reload
  await expect(page).toHaveURL(/\/ai\/questions$/);
  await page
    .locator("[data-question]", { hasText: "write a note" })
    .first()
    .getByRole("button", { name: "Approve" })
    .click();
  await expect.poll(async () => (await dev.client().executions.get(x.id)).status).toBe("COMPLETED");
});

test.describe("an address that leads nowhere", () => {
  test.use({ allowed: [/404/] });

  test("is a page with a heading, and leads back", async ({ page, dev }) => {
    await page.goto(`${dev.url}/ai/nowhere`);
    await expect(page.getByRole("heading", { name: "There is no such page", level: 1 })).toBeVisible();
    await accessible(page);
    await page.getByRole("link", { name: "All runs" }).click();
    await expect(page.getByRole("heading", { name: "Runs", exact: true })).toBeVisible();
    await page.goto(`${dev.url}/ai/runs/0199d7e2-0000-7000-8000-000000000000`);
    await expect(page.getByText("This run cannot be shown")).toBeVisible();
    await accessible(page);
    await page.getByRole("link", { name: "All runs" }).click();
    await expect(page.getByRole("heading", { name: "Runs", exact: true })).toBeVisible();
  });
});
