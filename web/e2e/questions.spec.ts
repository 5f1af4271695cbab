import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { type Dev, eventually } from "../client/e2e/server";
import type { Execution, StartBody } from "../client/src/index";
import { accessible } from "./anykind";
import { expect, RunView, test } from "./stand";

/** Starts a run whose call of bash waits for its approval. */
function ask(dev: Dev, edit = false, more: Partial<StartBody> = {}): Promise<Execution> {
  return dev.client().executions.create({
    ...more,
    userPrompt: "write a note",
    models: [{ provider: "scripted", modelId: "approve" }],
    tools: ["bash"],
    oneShot: true,
    // biome-ignore lint/suspicious/noThenProperty: the rule has a member of this name
    approvals: [{ tools: ["bash"], then: "ask", reason: "May it write?", ...(edit ? { edit: true } : {}) }],
  });
}

const card = (page: Page) => page.locator("[data-question]");

test("a tool call is approved on the page of its run", async ({ page, dev }) => {
  const x = await ask(dev);
  const run = new RunView(page);
  await run.open(dev.url, x.id);
  await expect(run.status).toHaveText("Asks");
  await expect(card(page)).toContainText("May bash run?");
  await expect(card(page)).toContainText("May it write?");
  await expect(run.input).toHaveAttribute("placeholder", /Answer above/);
  await expect(page.getByText("A message withdraws the open questions.")).toBeVisible();
  await expect(card(page)).toContainText("echo approved > note.txt");
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations).toEqual([]);
  await card(page).getByRole("button", { name: "Approve" }).click();
  await expect(run.assistant.last()).toContainText("It is done.");
  await expect(run.status).toHaveText("Completed");
  await expect(card(page)).toHaveCount(0);
});

test("a person changes the arguments before they are run", async ({ page, dev }) => {
  const x = await ask(dev, true);
  const run = new RunView(page);
  await run.open(dev.url, x.id);
  await card(page).getByRole("button", { name: "Edit…" }).click();
  const text = card(page).getByLabel("Approve this instead");
  await expect(text).toHaveValue(/echo approved/);
  await text.fill("{ not json");
  await card(page).getByRole("button", { name: "Approve the edit" }).click();
  await expect(card(page).getByRole("alert")).toContainText("not JSON");
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations).toEqual([]);
  await text.fill('{"command": "echo edited > note.txt; cat note.txt"}');
  await card(page).getByRole("button", { name: "Approve the edit" }).click();
  await expect(run.status).toHaveText("Completed");
  const entries = JSON.stringify((await dev.client().executions.entries(x.id)).items);
  expect(entries).toContain("A person changed the arguments of this call");
  expect(entries).toContain("edited\\n");
});

test("a denial with its reason reaches the model, from a phone and by keyboard", async ({ page, dev }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  const x = await ask(dev);
  await page.goto(`${dev.url}/ai/questions`);
  const mine = card(page).filter({ has: page.locator(`a[href*="${x.id}"]`) });
  await expect(mine).toContainText("echo approved");
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations).toEqual([]);
  await mine.getByLabel("Reason").fill("not today");
  await mine.getByRole("button", { name: "Deny" }).focus();
  await page.keyboard.press("Enter");
  await expect(mine).toHaveCount(0);
  await expect.poll(async () => (await dev.client().executions.get(x.id)).status).toBe("COMPLETED");
  const entries = await dev.client().executions.entries(x.id);
  expect(JSON.stringify(entries.items)).toContain("it was denied: not today");
});

test("of two tabs that answer, one decides and the other is told", async ({
  page,
  dev,
  context,
  allowed,
}) => {
  allowed.push(/409/);
  const x = await ask(dev);
  const run = new RunView(page);
  await run.open(dev.url, x.id);
  await expect(card(page)).toBeVisible();
  const other = await context.newPage();
  await other.goto(`${dev.url}/ai/runs/${x.id}`);
  await expect(card(other)).toBeVisible();
  // A card whose question is decided elsewhere goes away, also below the pointer.
  const soon = { timeout: 10_000 };
  await Promise.allSettled([
    card(page).getByRole("button", { name: "Approve" }).click(soon),
    card(other).getByRole("button", { name: "Deny" }).click(soon),
  ]);
  await expect(run.status).toHaveText("Completed");
  const all = await dev.client().questions.list({ agentExecutionId: x.id });
  expect(all.items).toHaveLength(1);
  expect(all.items[0]?.status).toBe("answered");
});

test("an approval is remembered, and revoked in the settings", async ({ page, dev }) => {
  const x = await ask(dev);
  const run = new RunView(page);
  await run.open(dev.url, x.id);
  await card(page).getByLabel("Remember the approval").selectOption("Remember every bash, in this run");
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations).toEqual([]);
  await card(page).getByRole("button", { name: "Approve" }).click();
  await expect(run.status).toHaveText("Completed");
  await page.goto(`${dev.url}/ai/settings`);
  const grants = page.getByRole("list", { name: "Remembered approvals" });
  await expect(grants).toContainText("every call of bash in a run");
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  await grants.getByRole("button", { name: "Revoke every call of bash" }).click();
  await expect(page.getByText("There are none.")).toBeVisible();
  expect((await dev.client().questions.grants()).items).toEqual([]);
});

test.describe("a question of a LOCAL run", () => {
  test.use({ allowed: [/status of 503/] });

  /** Starts a run whose question, with its content, is on a worker of its own. */
  async function askAtHome(dev: Dev, home: string) {
    const worker = dev.worker(home, home);
    const { id } = await ask(dev, false, { queue: home, persistenceMode: "LOCAL" });
    await eventually(
      "it asks",
      async () => (await dev.client().executions.get(id)).waitReason === "question",
    );
    return { id, worker };
  }

  test("cannot be approved while its worker is away, and shows its content when it is back", async ({
    page,
    dev,
  }) => {
    let { id, worker } = await askAtHome(dev, "cabin");
    const run = new RunView(page);
    await run.open(dev.url, id);
    await expect(card(page)).toContainText("echo approved > note.txt");
    const approve = card(page).getByRole("button", { name: "Approve" });
    await expect(approve).toBeEnabled();

    worker.kill("SIGKILL");
    await expect(card(page).getByRole("note")).toContainText(
      "The content of this question is on the worker of its LOCAL run, which is away.",
    );
    await expect(card(page)).toContainText("May bash run?");
    await expect(card(page)).not.toContainText("echo approved");
    await expect(approve).toBeDisabled();
    await expect(approve).toHaveAccessibleDescription(/which is away\. .* can only be denied/);
    await expect(card(page).getByRole("button", { name: "Deny" })).toBeEnabled();
    await accessible(page);

    worker = dev.worker("cabin", "cabin");
    await expect(card(page)).toContainText("echo approved > note.txt");
    await expect(card(page).getByRole("note")).toHaveCount(0);
    await approve.click();
    await expect(run.status).toHaveText("Completed");
    await expect(run.assistant.last()).toContainText("It is done.");
    worker.kill("SIGKILL");
  });

  test("is denied while its worker is away, and the run goes on when it is back", async ({ page, dev }) => {
    const { id, worker } = await askAtHome(dev, "hut");
    worker.kill("SIGKILL");
    await page.goto(`${dev.url}/ai/questions`);
    const mine = card(page).filter({ has: page.locator(`a[href*="${id}"]`) });
    await expect(mine.getByRole("note")).toContainText("which is away");
    await mine.getByRole("button", { name: "Deny" }).click();
    await expect(mine).toHaveCount(0);
    const [question] = (await dev.client().questions.list({ agentExecutionId: id })).items;
    expect(question?.answer?.verdict).toBe("deny");
    const back = dev.worker("hut", "hut");
    const run = new RunView(page);
    await run.open(dev.url, id);
    await expect(run.status).toHaveText("Completed");
    await expect(page.locator("[data-tool=bash]")).toContainText("denied");
    back.kill("SIGKILL");
  });
});
