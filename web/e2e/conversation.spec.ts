import { AxeBuilder } from "@axe-core/playwright";
import { contentOf } from "../client/src/index";
import { expect, RunView, start, test } from "./stand";

test("a run is started in the form, and streams to its end", async ({ page, dev }) => {
  await page.goto(dev.url);
  await expect(page).toHaveURL(/\/ai\/runs$/);
  await page.getByRole("link", { name: "New run" }).click();
  await page.getByRole("button", { name: "Start the run" }).click();
  await expect(page.getByText("Say what the agent is to do.")).toBeVisible();
  await expect(page.getByText("Name at least one model.")).toBeVisible();
  await page.getByLabel("Prompt", { exact: true }).fill("Look around");
  await page.getByLabel("Provider of model 1").selectOption("scripted");
  await page.getByLabel("Id of model 1").fill("tour");
  await page.getByRole("button", { name: "Start the run" }).click();
  await expect(page).toHaveURL(/\/ai\/runs\/[0-9a-f-]{36}$/);

  const run = new RunView(page);
  await expect(page.getByRole("heading", { name: "Look around" })).toBeVisible();
  await expect(run.user).toHaveText(/Look around/);
  await run.yourTurn();
  const last = run.assistant.last();
  await expect(last.getByRole("heading", { name: "What I found" })).toBeVisible();
  await expect(last.getByRole("row")).toHaveCount(2);
  await expect(last.getByRole("link", { name: "the tour" })).toHaveAttribute("rel", /noopener/);
  await expect(page.locator("[data-busy=true], [data-state=running]")).toHaveCount(0);

  await run.log.evaluate((box) => box.scrollTo(0, 0));
  const bash = page.locator("[data-tool=bash]");
  await expect(bash).toHaveAttribute("data-state", "done");
  await expect(bash.getByText("green", { exact: true })).toHaveCSS("color", "rgb(126, 231, 135)");
  await expect(page.locator("[data-tool=edit-file]").getByText('println("hello, world")')).toBeVisible();
  await page.locator("summary", { hasText: "Thought" }).first().click();
  await expect(page.getByText("I list the files first.").last()).toBeVisible();

  await page.goBack();
  await expect(page.getByLabel("Prompt", { exact: true })).toBeVisible();
  await page.goForward();
  await expect(run.assistant.last()).toContainText("What I found");
});

test("a message while it works steers, and one while it waits follows up", async ({ page, dev }) => {
  const x = await start(dev.client(), "steer", "begin");
  const run = new RunView(page);
  await run.open(dev.url, x.id);
  await expect(page.locator("[data-tool=bash]")).toHaveAttribute("data-state", "running");
  await expect(run.input).toHaveAttribute("placeholder", /Steer/);
  await run.say("do it another way");
  await expect(page.locator("[data-kind=queued]")).toContainText("do it another way");
  dev.file("steered", ""); // the running tool ends; the next one never begins
  await expect(run.assistant.last()).toContainText("another way");
  await expect(run.user).toHaveCount(2);
  await expect(page.locator("[data-tool=write-file]")).toHaveAttribute("data-state", "failed");
  await run.yourTurn();
  await expect(run.input).toHaveAttribute("placeholder", /Reply/);
  await run.say("one more thing");
  await expect(run.assistant.last()).toContainText("Done with the follow-up.");
  await run.yourTurn();
  await expect(run.user).toHaveCount(3);
  await expect(page.locator("[data-busy=true], [data-state=running]")).toHaveCount(0);
});

test("five messages in a row are five bubbles, in order, each once", async ({ page, dev }) => {
  const x = await start(dev.client(), "short", "begin");
  const run = new RunView(page);
  await run.open(dev.url, x.id);
  await run.yourTurn();
  const words = ["one", "two", "three", "four", "five"].map((w) => `message ${w}`);
  for (const w of words) await run.say(w);
  await expect(run.user).toHaveCount(6);
  await expect(page.locator("[data-kind=sent], [data-kind=queued]")).toHaveCount(0);
  await run.yourTurn();
  const said = await run.user.evaluateAll((all) => all.map((b) => b.querySelector("p")?.textContent));
  expect(said).toEqual(["begin", ...words]);
  await expect(run.input).toHaveValue("");
  // The server has the same entries.
  const { items } = await dev.client().executions.entries(x.id, { limit: 100 });
  const stored = items
    .filter((e) => e.role === "user")
    .map((e) =>
      contentOf(e)
        ?.parts.map((p) => p.type === "text" && p.text)
        .join(""),
    );
  expect(stored).toEqual(["begin", ...words]);
});

test("an answer is stopped, what was seen of it stays, and the run takes the next message", async ({
  page,
  dev,
}) => {
  const x = await start(dev.client(), "slow", "begin");
  const run = new RunView(page);
  await run.open(dev.url, x.id);
  await expect(run.assistant.last()).toContainText("Part 1 of answer 1: the quick brown fox");
  await page.getByRole("button", { name: "Stop the turn" }).click();
  await run.yourTurn();
  await expect(page.getByText("You stopped this answer.")).toBeVisible();
  await expect(run.assistant.last()).toContainText("Part 1 of answer 1: the quick brown fox");
  await expect(page.locator("[data-busy=true], [data-state=running]")).toHaveCount(0);
  const shown = await run.assistant.last().innerText();
  await page.reload();
  await run.yourTurn();
  expect(await run.assistant.last().innerText()).toBe(shown);
  await expect(page.getByRole("button", { name: "Stop the turn" })).toHaveCount(0);
  await run.say("go on");
  await expect(run.assistant.last()).toContainText("answer 2");
});

test("a run is cancelled, and its tools end with it", async ({ page, dev }) => {
  const x = await start(dev.client(), "hang", "begin");
  const run = new RunView(page);
  await run.open(dev.url, x.id);
  await expect(page.getByRole("log", { name: "Output of bash" })).toHaveText(/begun/);
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel the run" }).click();
  await expect(run.status).toHaveText("Cancelled");
  await expect(page.locator("[data-busy=true], [data-state=running]")).toHaveCount(0);
  await expect(page.getByText("This run has ended")).toBeVisible();
  await page.goto(`${dev.url}/ai/runs?status=CANCELLED`);
  await expect(page.getByRole("list", { name: "Runs" })).toContainText("begin");
});

test("a failed turn says why, in the run and in lists, and is repeated", async ({ page, dev }) => {
  dev.script("mended", "turn\n  fail auth the key is not valid\n");
  const x = await start(dev.client(), "mended", "begin");
  const run = new RunView(page);
  await run.open(dev.url, x.id);
  await expect(run.status).toHaveText("Failed turn");
  const alert = page.getByRole("alert");
  await expect(alert).toContainText("Failed turn");
  await expect(alert).toContainText("the key is not valid");
  await expect(alert).toContainText("send a message", { ignoreCase: true });
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations).toEqual([]);

  await page.goto(`${dev.url}/ai/runs`);
  await page.getByRole("button", { name: "Failed turn", exact: true }).click();
  await expect(page).toHaveURL(/status=FAILED_TURN/);
  const row = page.getByRole("listitem").filter({ has: page.locator(`a[href*="${x.id}"]`) });
  await expect(row).toContainText("the key is not valid");
  await expect(page.getByRole("list", { name: "Runs" }).getByText("Failed turn")).not.toHaveCount(0);
  await expect(page.getByRole("list", { name: "Runs" }).getByText("Your turn")).toHaveCount(0);
  await row.getByRole("link").click();
  dev.script("mended", "turn\n  text It works now.\n");
  await page.getByRole("button", { name: "Retry" }).click();
  await expect(run.assistant.last()).toContainText("It works now.");
  await run.yourTurn();
  await expect(alert).toHaveCount(0);
});

test("an answer that ends at the turn limit says so, in the run and in the list", async ({ page, dev }) => {
  const x = await dev.client().executions.create({
    userPrompt: "look around once",
    models: [{ provider: "scripted", modelId: "tour" }],
    tools: ["bash", "read-file", "write-file", "edit-file"],
    config: { maxTurns: 1 },
  });
  const run = new RunView(page);
  await run.open(dev.url, x.id);
  await run.yourTurn();
  await expect(page.getByText("The turn limit is reached")).toBeVisible();
  await page.goto(`${dev.url}/ai/runs`);
  const row = page.getByRole("listitem").filter({ has: page.locator(`a[href*="${x.id}"]`) });
  await expect(row).toContainText("turn limit reached");
  await page.keyboard.press("/");
  await expect(page.getByLabel("Search runs")).toBeFocused();
});

test("the list finds runs, and its address says how", async ({ page, dev }) => {
  const done = await start(dev.client(), "short", "needle in a haystack", true);
  await start(dev.client(), "short", "something else");
  await page.goto(`${dev.url}/ai/runs`);
  await page.getByLabel("Search runs").fill("needle");
  await expect(page).toHaveURL(/q=needle/);
  const list = page.getByRole("list", { name: "Runs" });
  await expect(list.getByRole("listitem")).toHaveCount(1);
  await expect(list).toContainText("Completed");
  await page.getByRole("button", { name: "Failed", exact: true }).click();
  await expect(page.getByText("No run is like that")).toBeVisible();
  await page.goBack();
  await expect(list.getByRole("link")).toHaveAttribute("href", `/ai/runs/${done.id}`);
  await page.reload();
  await expect(page.getByLabel("Search runs")).toHaveValue("needle");
});

test("a wide table of a model is scrolled by itself on a phone, also by keyboard", async ({ page, dev }) => {
  const names = ["component", "responsibility", "interface", "configuration", "observability", "replacement"];
  const row = (cells: string[]) => `| ${cells.join(" | ")} |`;
  const table = [row(names), row(names.map(() => "---")), row(names)].join("\n");
  dev.script("table", `turn\n  text <<END\n${table}\n  END\n`);
  await page.setViewportSize({ width: 390, height: 844 });
  const x = await start(dev.client(), "table", "compare them");
  const run = new RunView(page);
  await run.open(dev.url, x.id);
  const box = page.getByRole("group", { name: "Table" });
  await expect(box).toContainText("observability");
  const sizes = await box.evaluate((b) => ({
    shown: b.clientWidth,
    all: b.scrollWidth,
    page: document.documentElement.scrollWidth,
  }));
  expect(sizes.shown).toBeLessThanOrEqual(390);
  expect(sizes.all).toBeGreaterThan(sizes.shown);
  expect(sizes.page).toBe(390);
  await box.focus();
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => box.evaluate((b) => b.scrollLeft)).toBeGreaterThan(0);
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations).toEqual([]);
});
