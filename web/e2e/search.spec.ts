import type { Page } from "@playwright/test";
import { accessible } from "./anykind";
import { looks } from "./look";
import { expect, start, test } from "./stand";

const model = { provider: "scripted", modelId: "short" };

/** Searches from the keyboard, and checks what the page says when nothing is found. */
async function search(page: Page, label: string, words: string, nothing: string): Promise<void> {
  const field = page.getByLabel(label);
  await page.keyboard.press("/");
  await expect(field).toBeFocused();
  await page.keyboard.type("nothing/of that");
  await expect(page.getByText(nothing)).toBeVisible();
  await accessible(page);
  await page.getByRole("button", { name: "Clear the search" }).first().click();
  await expect(field).toBeFocused();
  await expect(field).toHaveValue("");
  await page.keyboard.type("x");
  await page.keyboard.press("Escape");
  await expect(field).toHaveValue("");
  await page.keyboard.type(words);
}

for (const look of looks) {
  test(`${look.theme} and ${look.width}: agents, workers, questions and settings are searched`, async ({
    page,
    dev,
  }) => {
    await page.emulateMedia({ colorScheme: look.theme, reducedMotion: "reduce" });
    if (look.width === "phone") await page.setViewportSize({ width: 390, height: 800 });
    const client = dev.client();
    const agents = [];
    for (const [name, description] of [
      ["Baker", "Bakes the bread."],
      ["Miller", "Mills the flour."],
    ] as const)
      agents.push(await client.definitions.create({ name, description, models: [model] }));
    await page.goto(`${dev.url}/ai/agents`);
    const cards = page.getByRole("list", { name: "Agents" }).getByRole("listitem");
    await expect(cards.filter({ hasText: "Miller" })).toBeVisible();
    await search(page, "Search agents", "SHORT flour", "No agent is like that.");
    await expect(cards).toHaveCount(1);
    await expect(cards).toContainText("Miller");
    await expect(page.getByRole("status").filter({ hasText: /^1 of \d+$/ })).toBeVisible();
    await accessible(page);
    for (const a of agents) await client.definitions.delete(a.id);

    await client.queues.pause("attic");
    await page.goto(`${dev.url}/ai/workers`);
    const queues = page.getByRole("list", { name: "Queues" }).getByRole("listitem");
    const workers = page.getByRole("list", { name: "Workers" }).getByRole("listitem");
    await expect(queues.filter({ hasText: "attic" })).toBeVisible();
    await expect(workers.first()).toBeVisible();
    await search(page, "Search workers and queues", "attic paused", "No queue is like that.");
    await expect(queues).toHaveCount(1);
    await expect(page.getByText("No worker is like that.")).toBeVisible();
    await page.getByLabel("Search workers and queues").fill("connected react-agent");
    await expect(workers.first()).toBeVisible();
    await expect(page.getByText("No queue is like that.")).toBeVisible();
    await accessible(page);
    await client.queues.resume("attic");

    const asked = [];
    for (const userPrompt of ["write the menu", "write the bill"])
      asked.push(
        await client.executions.create({
          userPrompt,
          models: [{ provider: "scripted", modelId: "approve" }],
          tools: ["bash"],
          // biome-ignore lint/suspicious/noThenProperty: the rule has a member of this name
          approvals: [{ tools: ["bash"], then: "ask" }],
        }),
      );
    await page.goto(`${dev.url}/ai/questions`);
    const questions = page.locator("[data-question]");
    await expect(questions.filter({ hasText: "write the menu" })).toBeVisible();
    await expect(questions.filter({ hasText: "write the bill" })).toBeVisible();
    await questions.filter({ hasText: "write the bill" }).getByLabel("Reason").fill("either/or");
    await page.getByLabel("Only those that I may answer").click();
    await search(page, "Search questions", "echo MENU", "No question is like that.");
    await expect(questions.filter({ visible: true })).toHaveCount(1);
    await expect(questions.filter({ visible: true })).toContainText("write the menu");
    await accessible(page);
    await page.keyboard.press("Escape");
    await expect(questions.filter({ hasText: "write the bill" }).getByLabel("Reason")).toHaveValue(
      "either/or",
    );
    for (const x of asked) await client.executions.cancel(x.id);

    const key = await client.keys.create({ name: `bakery ${look.theme} ${look.width}`, role: "client" });
    await page.goto(`${dev.url}/ai/settings`);
    const keys = page.getByRole("list", { name: "API keys" }).getByRole("listitem");
    await expect(keys.filter({ hasText: key.name })).toBeVisible();
    await search(page, "Search the settings", `bakery ${look.theme} ${look.width}`, "No key is like that.");
    await expect(keys).toHaveCount(1);
    await expect(page.getByRole("button", { name: "Make a key" })).toBeHidden();
    await expect(page.getByText("No session is like that.")).toBeVisible();
    await accessible(page);
    await page.keyboard.press("Escape");
    await page.getByLabel("Name", { exact: true }).fill("");
    await page.getByLabel("Name", { exact: true }).pressSequentially("left/right");
    await expect(page.getByLabel("Name", { exact: true }), "a field keeps its /").toHaveValue("left/right");
    await client.keys.revoke(key.id);
  });
}

test("the newest 50 questions are searched, and the page says so", async ({ page, dev }) => {
  const client = dev.client();
  await page.route("**/questions?*limit=50*", async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), nextCursor: "more" } });
  });
  const x = await client.executions.create({
    userPrompt: "write one of many",
    models: [{ provider: "scripted", modelId: "approve" }],
    tools: ["bash"],
    // biome-ignore lint/suspicious/noThenProperty: the rule has a member of this name
    approvals: [{ tools: ["bash"], then: "ask" }],
  });
  await page.goto(`${dev.url}/ai/questions`);
  await expect(page.getByPlaceholder(/^Search the newest \d+ \( \/ \)$/)).toBeVisible();
  await expect(page.getByText(/These are the newest \d+, which the search looks through/)).toBeVisible();
  await client.executions.cancel(x.id);
});

test("JSON has colours, and the page is as high as without them", async ({ page, dev }) => {
  const x = await start(dev.client(), "tour", "Look around");
  await page.route("**/assets/colours*", async (route) => {
    await held;
    await route.continue();
  });
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.goto(`${dev.url}/ai/runs/${x.id}`);
  const args = page.locator("[data-tool=read-file]").first();
  await expect(args).toHaveAttribute("data-state", "done"); // a card is open while its tool is at work
  await args.getByRole("button").first().click();
  const json = args.getByRole("group", { name: "Arguments" });
  await expect(json).toContainText('"path"');
  await expect(json.locator("span")).toHaveCount(0);
  const before = await json.boundingBox();
  release();
  await expect(json.locator(".hljs-attr").first()).toHaveText('"path"');
  expect((await json.boundingBox())?.height).toBe(before?.height);
  await accessible(page);
});
