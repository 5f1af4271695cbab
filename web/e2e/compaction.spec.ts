import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import type { Dev } from "../client/e2e/server";
import { expect, RunView, start, test } from "./stand";

/** Opens a run of three answers whose conversation a client has compacted. The summary is shorter. */
async function openCompacted(page: Page, dev: Dev): Promise<RunView> {
  const client = dev.client();
  const x = await start(client, "talk", "count to four");
  const run = new RunView(page);
  await run.open(dev.url, x.id);
  for (const [said, answer] of [
    [`and on${" please".repeat(100)}`, "One."],
    ["and on again", "Two."],
  ] as const) {
    await expect(run.assistant.last()).toContainText(answer);
    await run.yourTurn();
    await run.say(said);
  }
  await expect(run.assistant.last()).toContainText("Three.");
  await run.yourTurn();
  await client.executions.compact(x.id, {});
  await expect(divider(page)).toHaveCount(1);
  return run;
}

const divider = (page: Page) => page.locator("[data-kind=compaction]");

async function expectNoViolations(page: Page, state: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page })
    .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"])
    .analyze();
  expect(violations, state).toEqual([]);
}

test("a compaction is a divider that opens to its summary by mouse", async ({ page, dev }) => {
  const run = await openCompacted(page, dev);
  const line = divider(page).locator("summary");
  await expect(line).toHaveText(/Compaction: [0-9]+ messages summarized, [0-9.]+( k)? → [0-9.]+( k)? tokens/);
  const summary = divider(page).getByText("The user counts.");
  await expect(summary).toBeHidden();
  await line.click();
  await expect(summary).toBeVisible();
  await expect(divider(page).getByRole("heading", { name: "Goal" })).toBeVisible();
  await expect(divider(page)).toContainText("A user asked for it.");
  await line.click();
  await expect(summary).toBeHidden();

  // What the summary covers is above it, and is marked. The pinned and the newest message are not.
  const marked = run.log.locator("[data-role]", { hasText: "Not seen by the model" });
  await expect(marked.filter({ hasText: "One." })).toHaveCount(1);
  await expect(marked.filter({ hasText: "and on" }).first()).toBeVisible();
  await expect(marked.filter({ hasText: "count to four" })).toHaveCount(0);
  await expect(marked.filter({ hasText: "Three." })).toHaveCount(0);

  // The conversation goes on below the divider, and all is the same in a new page.
  await run.say("the last one");
  await expect(run.assistant.last()).toContainText("Four.");
  await run.yourTurn();
  await page.reload();
  await expect(run.assistant.last()).toContainText("Four.");
  await expect(divider(page)).toHaveCount(1);
  await expect(marked.filter({ hasText: "One." })).toHaveCount(1);
});

test("the divider opens by keyboard, and has no accessibility fault", async ({ page, dev }) => {
  await openCompacted(page, dev);
  const line = divider(page).locator("summary");
  const summary = divider(page).getByText("The user counts.");
  await page.getByLabel("Message to the agent").focus();
  for (let i = 0; i < 40 && !(await line.evaluate((e) => e === document.activeElement)); i++) {
    await page.keyboard.press("Shift+Tab");
  }
  await expect(line).toBeFocused();
  for (const key of ["Enter", "Space"]) {
    await page.keyboard.press(key);
    await expect(summary).toBeVisible();
    await page.keyboard.press(key);
    await expect(summary).toBeHidden();
  }
  await expectNoViolations(page, "closed");
  await page.keyboard.press("Enter");
  await expect(summary).toBeVisible();
  await expectNoViolations(page, "open");
});
