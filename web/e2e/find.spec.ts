import { accessible } from "./anykind";
import { longRun } from "./long";
import { expect, RunView, start, test } from "./stand";

test("a text is found in the whole of a long run, and its row is shown", async ({ page, dev }) => {
  test.setTimeout(300_000);
  const id = await longRun(dev, []);
  const run = new RunView(page);
  await run.open(dev.url, id);
  await expect(run.assistant.last()).toContainText("Ready.", { timeout: 60_000 });
  await run.log.focus();
  await page.keyboard.press("/");
  const field = page.getByRole("search").getByLabel("Find in the run");
  await expect(field).toBeFocused();
  await page.keyboard.type("PART 17 of the machine");
  await expect(page.getByRole("search")).toContainText("1 of 1", { timeout: 120_000 });
  const row = page.locator("[data-found]");
  await expect(row).toContainText("Question 17:");
  await expect(row).toBeInViewport();
  // Also what a tool was called with, and has returned.
  await field.fill("machine.go:1200: func");
  await expect(page.getByRole("search")).toContainText("1 of 1");
  await expect(row).toBeInViewport();
  await field.fill("nowhere to be found");
  await expect(page.getByRole("search")).toContainText("Not found");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("search")).toHaveCount(0);
  await expect(page.locator("[data-found]")).toHaveCount(0);
});

test("matches are gone through by keyboard and by button, on a phone in the dark", async ({ page, dev }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  const x = await start(dev.client(), "short", "the first needle");
  const run = new RunView(page);
  await run.open(dev.url, x.id);
  await run.yourTurn();
  await run.say("the second needle");
  await run.yourTurn();
  await page.getByRole("button", { name: "Find in the run" }).click();
  const bar = page.getByRole("search");
  await bar.getByLabel("Find in the run").fill("needle");
  await expect(bar).toContainText("2 of 2");
  await expect(page.locator("[data-found]")).toContainText("the second needle");
  await page.keyboard.press("Enter");
  await expect(bar).toContainText("1 of 2");
  await expect(page.locator("[data-found]")).toContainText("the first needle");
  await bar.getByRole("button", { name: "Newer match" }).click();
  await expect(bar).toContainText("2 of 2");
  await accessible(page);
  await bar.getByRole("button", { name: "Close the search" }).click();
  await expect(bar).toHaveCount(0);
});

test("each match of a long message is counted, shown and marked", async ({ page, dev }) => {
  const lines = Array.from({ length: 200 }, (_, i) =>
    i % 40 === 0 ? `Pebble and pebble ${i}` : `line ${i}`,
  );
  const x = await start(dev.client(), "short", lines.join("\n"));
  const run = new RunView(page);
  await run.open(dev.url, x.id);
  await run.yourTurn();
  await page.getByRole("button", { name: "Find in the run" }).click();
  const bar = page.getByRole("search");
  await bar.getByLabel("Find in the run").fill("pebble");
  await expect(bar).toContainText("10 of 10");
  const current = () =>
    page.evaluate(() => {
      const range = [...(CSS.highlights.get("perdure-find-current") ?? [])][0] as Range | undefined;
      const box = document.querySelector("[role=log]")?.getBoundingClientRect();
      const at = range?.getBoundingClientRect();
      const seen = box && at && at.top >= box.top && at.bottom <= box.bottom;
      const line = range?.startContainer.textContent?.slice(range.startOffset).split("\n")[0];
      return `${seen ? "seen" : "out of view"}: ${line}`;
    });
  await expect.poll(current).toBe("seen: pebble 160");
  await page.keyboard.press("Enter");
  await expect(bar).toContainText("9 of 10");
  await expect.poll(current).toBe("seen: Pebble and pebble 160");
  await page.keyboard.press("Enter");
  await expect(bar).toContainText("8 of 10");
  await expect.poll(current).toBe("seen: pebble 120");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.press("Shift+Enter");
  await expect(bar).toContainText("10 of 10");
  await page.keyboard.press("Shift+Enter");
  await expect(bar).toContainText("1 of 10");
  await expect.poll(current).toBe("seen: Pebble and pebble 0");
  // Texts of the page, such as "The agent said:", are no matches.
  await bar.getByLabel("Find in the run").fill("a");
  await expect(bar).toContainText("6 of 6");
  await expect.poll(current).toBe("seen: ady.");
});
