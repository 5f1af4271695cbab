import type { Dev } from "../client/e2e/server";
import { check, looks } from "./look";
import { expect, RunView, signInTo, start, startDev, test } from "./stand";

/** Creates runs of each kind, so that the pages have content. */
async function furnish(dev: Dev): Promise<{ run: string; agent: string }> {
  const client = dev.client();
  const [first] = (await client.definitions.list()).items;
  if (first) {
    const runs = (await client.executions.list({ q: "Look around" })).items;
    return { run: runs[0]?.id ?? "", agent: first.id };
  }
  const agent = await client.definitions.create({
    name: "Reviewer",
    description: "Reads a change, runs the tests, and says what it thinks.",
    systemPrompt: "You review changes. Run the tests before you say anything.",
    models: [
      { provider: "scripted", modelId: "tour" },
      { provider: "scripted", modelId: "short" },
    ],
    tools: ["bash", "read-file", "grep", "find"],
    config: { maxTurns: 20, thinking: "medium" },
  });
  await client.definitions.create({
    name: "Gardener",
    description: "Keeps dependencies fresh and opens a change for each.",
    models: [{ provider: "scripted", modelId: "short" }],
    tools: ["bash", "edit-file"],
  });
  const hang = await start(client, "hang", "Watch the deployment until it is through");
  await start(client, "short", "Summarise the changes of last week for the team", true);
  const stopped = await start(client, "hang", "Rename the package everywhere and run the tests");
  await client.executions.cancel(stopped.id);
  const run = await start(client, "tour", "Look around and tell me what is in this folder");
  const settled = async (id: string, status: string) => (await client.executions.get(id)).status === status;
  await expect.poll(() => settled(hang.id, "WAITING")).toBe(true);
  await expect.poll(async () => (await client.executions.get(run.id)).waitReason).toBe("signal");
  return { run: run.id, agent: agent.id };
}

/** Starts a run whose call of bash waits for its approval. */
async function asks(dev: Dev, userPrompt: string): Promise<string> {
  const run = await dev.client().executions.create({
    userPrompt,
    models: [{ provider: "scripted", modelId: "approve" }],
    tools: ["bash"],
    oneShot: true,
    // biome-ignore lint/suspicious/noThenProperty: the rule has a member of this name
    approvals: [{ tools: ["bash"], then: "ask", reason: "It changes files." }],
  });
  return run.id;
}

for (const look of looks) {
  test.describe(`${look.theme} and ${look.width}: accessible, and no wider than the screen`, () => {
    test.setTimeout(180_000);
    let made: { run: string; agent: string };
    let view: RunView;
    let go: (path: string) => Promise<unknown>;

    test.beforeEach(async ({ page, dev }) => {
      made = await furnish(dev);
      await page.emulateMedia({ colorScheme: look.theme, reducedMotion: "reduce" });
      if (look.width === "phone") await page.setViewportSize({ width: 390, height: 800 });
      view = new RunView(page);
      go = (path) => page.goto(`${dev.url}${path}`);
    });

    test("lists and forms", async ({ page }) => {
      await go("/ai/runs");
      const row = page.getByRole("listitem").filter({ hasText: "Look around and tell me" });
      await expect(row.getByTitle("Cost")).toHaveText("$0.00");
      await check(page, "runs", look);
      await go("/ai/runs/new");
      await expect(page.getByLabel("Id of model 1")).toBeVisible();
      await check(page, "new-run", look);
      await go("/ai/agents");
      await expect(page.getByText("Gardener")).toBeVisible();
      await check(page, "agents", look);
      await go(`/ai/agents/${made.agent}`);
      await expect(page.getByLabel("Name", { exact: true })).toHaveValue("Reviewer");
      await check(page, "agent", look);
      await go("/ai/settings");
      await expect(page.getByRole("button", { name: "Make a key" })).toBeVisible();
      await check(page, "settings", look);
      await page.getByRole("button", { name: "Sign out" }).click();
      await expect(page.getByLabel("API key")).toBeVisible();
      await check(page, "sign-in", look);
    });

    test("what affects many runs, questions, workers and webhooks", async ({ page, context }) => {
      const own = await startDev(); // the other tests see no run of this one
      try {
        await signInTo(context, own);
        const client = own.client();
        await furnish(own);
        await page.goto(`${own.url}/ai/runs`);
        await page.getByRole("button", { name: "Cancel all" }).click();
        await expect(page.getByRole("heading", { name: "Cancel 2 runs?" })).toBeVisible();
        await check(page, "bulk-action", look);

        const asked = await asks(own, "Release version 2.4 to the first ten customers");
        await asks(own, "Write down what was decided");
        await page.goto(`${own.url}/ai/questions`);
        await expect(page.locator("[data-question=open]").filter({ hasText: "echo" })).toHaveCount(2);
        await check(page, "questions", look);
        await page.goto(`${own.url}/ai/runs/${asked}`);
        await expect(page.locator("[data-question=open]")).toContainText("echo");
        await check(page, "run-question", look);

        await client.queues.pause("nightly");
        await page.goto(`${own.url}/ai/workers`);
        await expect(page.getByText("paused")).toBeVisible();
        await expect(page.getByText("connected").first()).toBeVisible();
        await check(page, "workers", look);

        await client.webhooks.create({
          url: "https://example.com/hooks/perdure",
          description: "Tells the people on duty",
          events: ["agent.failed"],
        });
        await page.goto(`${own.url}/ai/settings`);
        await expect(page.locator("[data-webhook]")).toContainText("on duty");
        await page.getByRole("button", { name: "Make a webhook" }).scrollIntoViewIfNeeded();
        await page.locator("[data-webhook]").getByRole("button", { name: "Delete" }).scrollIntoViewIfNeeded();
        await check(page, "webhooks", look);
      } finally {
        await page.goto("about:blank"); // a page that polls would miss the server
        await own.close();
      }
    });

    test("a run", async ({ page }) => {
      await go(`/ai/runs/${made.run}`);
      await expect(view.assistant.last()).toContainText("What I found");
      await expect(page.getByRole("heading", { name: "Look around" })).toBeVisible();
      const below = () => view.log.evaluate((b) => b.scrollHeight - b.scrollTop - b.clientHeight);
      await expect.poll(below, "a run opens at its end").toBeLessThan(4);
      await check(page, "run", look);
      await view.log.evaluate((box) => box.scrollTo(0, 0));
      await expect(page.locator("[data-tool=bash]")).toBeVisible();
      await check(page, "run-tools", look);
      await go(`/ai/runs/${made.run}?panel=overview`);
      for (const panel of ["Overview", "Timings", "Tasks", "Checkpoints", "Tree", "Events"]) {
        await page.getByRole("tab", { name: panel }).click();
        await expect(page.getByRole("tabpanel", { name: panel })).toContainText(
          /llm-request|scripted|Turn 1|#1|assistant/,
        );
        await check(page, `run-${panel.toLowerCase()}`, look);
      }
    });
  });
}

test("the keyboard alone starts a run and answers it", async ({ page, dev }) => {
  await page.goto(`${dev.url}/ai/runs`);
  await expect(page.getByRole("heading", { name: "Runs", exact: true })).toBeVisible();
  await page.keyboard.press("Tab");
  await expect(page.getByText("Skip to content")).toBeFocused();
  const newRun = page.getByRole("link", { name: "New run" });
  for (let i = 0; i < 12 && !(await newRun.evaluate((e) => e === document.activeElement)); i++)
    await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect(page.getByLabel("Prompt", { exact: true })).toBeFocused();
  await page.keyboard.type("by keyboard");
  await page.getByLabel("Provider of model 1").focus();
  await page.keyboard.type("scripted");
  await page.keyboard.press("Tab");
  await page.keyboard.type("short");
  await page.keyboard.press("Enter");
  const run = new RunView(page);
  await run.yourTurn();
  await expect(run.input).toBeFocused();
  await page.keyboard.type("thanks");
  await page.keyboard.press("Enter");
  await expect(run.assistant.last()).toContainText("Answer 1.");
});
