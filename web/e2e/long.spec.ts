import type { CDPSession, Page } from "@playwright/test";
import { framesOf } from "./frames";
import { longAnswer, longRun, questions } from "./long";
import { expect, RunView, start, test } from "./stand";

/**
 * PERDURE_FRAMES=1 measures the cost of a frame while an answer is streamed, without other
 * load.
 */
const measures = Boolean(process.env.PERDURE_FRAMES);

/** The minimum height of a row in pixels, with its distance to the next. */
const leastRow = 60;
const height = 860;
/** The rows that fill the screen, and some before and after them. */
const mostRows = Math.ceil(height / leastRow) + 10;

/** Records at each frame the number of rows. Returns a function that returns the maximum. */
async function countRows(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(() => {
    const w = window as unknown as { mostRows: number };
    w.mostRows = 0;
    new MutationObserver(() => {
      w.mostRows = Math.max(w.mostRows, document.querySelectorAll("[data-index]").length);
    }).observe(document.body, { childList: true, subtree: true });
  });
  return () => page.evaluate(() => (window as unknown as { mostRows: number }).mostRows);
}

/** Returns the number of elements and texts that the page keeps in memory, drawn or not. */
async function nodes(cdp: CDPSession): Promise<number> {
  await cdp.send("HeapProfiler.collectGarbage");
  return (await cdp.send("Memory.getDOMCounters")).nodes;
}

test("ten thousand entries are all there, and no more of them are drawn than are seen", async ({
  page,
  dev,
}) => {
  test.setTimeout(300_000);
  const id = await longRun(dev, [longAnswer(5), longAnswer(5)]);
  const run = new RunView(page);
  await run.open(dev.url, id);
  await expect(run.assistant.last()).toContainText("Ready.", { timeout: 60_000 });
  await run.yourTurn();
  const most = await countRows(page);
  const cdp = await page.context().newCDPSession(page);
  const before = await nodes(cdp);

  await run.log.evaluate(climb);

  // Row i shows entry i at every position, and the last entry is the last row.
  const stops = Array.from({ length: 25 }, (_, i) => i / 24);
  const seen = await run.log.evaluate(lookAround, stops);
  expect(seen.wrong).toEqual([]);
  expect(seen.first).toBe(0);
  expect(seen.last).toBe(3 * questions + 1); // the messages sent after the long part, and the answer
  expect(await most()).toBeLessThanOrEqual(mostRows);

  await expect(run.assistant.last()).toContainText("Ready.");
  await run.say("And the rest?");
  await expect(run.assistant.last()).toContainText("The end of it.", { timeout: 60_000 });
  await run.yourTurn();
  expect(await most()).toBeLessThanOrEqual(mostRows);
  // Rows that were drawn on the way are not kept in memory.
  expect(await nodes(cdp)).toBeLessThan(before + 15_000);

  // A reader who has scrolled up keeps the position while the next answer is streamed.
  await run.say("And then?");
  await expect(run.status).toHaveText("Working");
  await run.log.hover();
  await page.mouse.wheel(0, -20_000);
  await expect(page.getByRole("button", { name: "Go to the end" })).toBeVisible();
  const words = await run.log.evaluate(wordsInSight);
  const place = page.getByText(words);
  const y = (await place.boundingBox())?.y;
  await expect(run.status).toHaveText("Your turn", { timeout: 60_000 });
  expect((await place.boundingBox())?.y).toBe(y);
  await page.getByRole("button", { name: "Go to the end" }).click();
  await expect(run.assistant.last()).toContainText("The end of it.");
});

/**
 * Scrolls up to the first entry, page by page. Each page is requested at the top and then
 * appears above.
 */
async function climb(box: Element): Promise<void> {
  const first = () => box.querySelector("[data-index='0']")?.textContent?.includes("Question 0:");
  do {
    box.scrollTop = 0;
    do await new Promise((done) => requestAnimationFrame(done));
    while (box.scrollTop === 0 && !first());
  } while (!first());
}

/** Returns the text of the user's message in the middle of the screen. */
async function wordsInSight(box: Element): Promise<string> {
  const seen = [...box.querySelectorAll("[data-role=user] p")].find((p) => {
    const { top, bottom } = p.getBoundingClientRect();
    return top > box.clientHeight / 4 && bottom < box.clientHeight;
  });
  return seen?.textContent ?? "";
}

/** Scrolls to several positions, and returns the rows that do not show their entry. */
async function lookAround(box: Element, stops: number[]) {
  const indices: number[] = [];
  const wrong: string[] = [];
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  for (const stop of stops) {
    const there = () => stop < 1 || box.scrollHeight - box.scrollTop - box.clientHeight < 2;
    do {
      // Rows measured on the way change the total height, so scroll to the position again.
      box.scrollTop = stop * (box.scrollHeight - box.clientHeight);
      await frame();
      do await frame();
      while (box.querySelector("[data-place]"));
    } while (!there());
    for (const row of box.querySelectorAll("[data-index]")) {
      const i = Number(row.getAttribute("data-index"));
      indices.push(i);
      const n = Math.floor(i / 3);
      const text = (row.textContent ?? "").replace(/\s+/g, " ");
      const asked = `Question ${n}: how does part ${n} of`;
      const shows = [asked, `greppart${n}`, `Answer ${n}Part ${n} works`][i % 3] ?? "";
      if (n < 2_500 && !text.includes(shows)) wrong.push(`${i}: ${text}`);
    }
  }
  return { wrong, first: Math.min(...indices), last: Math.max(...indices) };
}

for (const entries of measures ? [2, 4 * questions] : []) {
  test(`a frame while an answer comes, after ${entries} entries`, async ({ page, dev }) => {
    test.setTimeout(300_000);
    const answer = longAnswer(12);
    dev.script("answer", `pace 4ms\nturn\n  text Ready.\n\nturn\n  text <<END\n${answer}\n  END\n`);
    const long = entries > 2;
    const id = long ? await longRun(dev, [answer]) : (await start(dev.client(), "answer", "begin")).id;
    const run = new RunView(page);
    await run.open(dev.url, id);
    await run.yourTurn();
    if (long) {
      await run.log.evaluate(climb);
      await page.getByRole("button", { name: "Go to the end" }).click();
      await expect(run.assistant.last()).toContainText("Ready.");
    }
    const client = dev.client();
    const before = await client.executions.get(id);
    const frames = await framesOf(page, async () => {
      await run.say("And the rest?");
      // The test asks the server, because reading the page would add to the page's work.
      const answered = async () => {
        const now = await client.executions.get(id);
        return now.currentCheckpointSeq > before.currentCheckpointSeq && now.waitReason === "signal";
      };
      await expect.poll(answered, { timeout: 240_000, intervals: [250] }).toBe(true);
    });
    console.log(`${entries} entries: ${JSON.stringify(frames)}`);
  });
}
