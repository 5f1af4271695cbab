import { expect, noServer, RunView, signInTo, start, startDev, test, watch } from "./stand";

/** Returns the page's content after an undisturbed read to the end. */
async function undisturbed(run: RunView, url: string, id: string): Promise<string[]> {
  await run.open(url, id);
  await run.yourTurn();
  await expect(run.assistant.last()).toContainText("The end of answer");
  return run.picture();
}

test("a server that is killed in the middle of a stream, and comes back, leaves nothing out", async ({
  browser,
}) => {
  const dev = await startDev();
  const context = await browser.newContext();
  await signInTo(context, dev);
  const wrong = watch(context, [noServer]);
  const run = new RunView(await context.newPage());
  const x = await start(dev.client(), "slow", "begin");
  await run.open(dev.url, x.id);
  await expect(run.assistant.last()).toContainText("Part 2 of answer 1");
  await dev.kill();
  await expect(run.page.getByText("Reconnecting")).toBeVisible();
  // A prompt sent now appears at once, and arrives once.
  await run.say("are you there");
  await expect(run.user).toHaveCount(2);
  await dev.start();
  await expect(run.assistant.last()).toContainText("The end of answer 2", { timeout: 60_000 });
  await run.yourTurn();
  await expect(run.user).toHaveCount(2);
  const after = await run.picture();
  expect(after).toEqual(await undisturbed(new RunView(await context.newPage()), dev.url, x.id));
  expect(wrong).toEqual([]);
  await context.close();
  await dev.close();
});

test("a message that is sent while the server is away survives a reload", async ({ browser }) => {
  const dev = await startDev();
  const context = await browser.newContext();
  await signInTo(context, dev);
  const run = new RunView(await context.newPage());
  const x = await start(dev.client(), "short", "begin");
  await run.open(dev.url, x.id);
  await run.yourTurn();
  await dev.kill();
  await expect(run.page.getByText("Reconnecting")).toBeVisible();
  await run.say("kept over a reload");
  await dev.start();
  await run.page.reload();
  await expect(run.assistant.last()).toContainText("Answer 1.");
  await run.yourTurn();
  await expect(run.user).toHaveCount(2);
  await context.close();
  await dev.close();
});

test("two tabs show the same, and what one says the other shows", async ({ page, context, dev }) => {
  const x = await start(dev.client(), "slow", "begin");
  const one = new RunView(page);
  const two = new RunView(await context.newPage());
  await one.open(dev.url, x.id);
  await expect(one.assistant.last()).toContainText("Part 1");
  await two.open(dev.url, x.id);
  await two.say("from the second tab");
  await expect(one.user).toHaveCount(2);
  for (const run of [one, two]) {
    await expect(run.assistant.last()).toContainText("The end of answer 2", { timeout: 60_000 });
    await run.yourTurn();
  }
  expect(await one.picture()).toEqual(await two.picture());
});

test("reloaded at ten random moments, the picture is the same", async ({ page, dev }) => {
  const x = await start(dev.client(), "slow", "begin");
  const run = new RunView(page);
  await run.open(dev.url, x.id);
  let least = 0;
  for (let i = 0; i < 10; i++) {
    // A moment: a random length of text that has not been reached.
    const text = () =>
      run.assistant
        .last()
        .innerText()
        .catch(() => "");
    await expect.poll(async () => (await text()).length, { intervals: [20] }).toBeGreaterThan(least);
    least = Math.min(620, (await text()).length + Math.floor(Math.random() * 40));
    await page.reload();
  }
  await expect(run.assistant.last()).toContainText("The end of answer 1");
  await run.yourTurn();
  const after = await run.picture();
  expect(after.filter((r) => r.startsWith("user"))).toHaveLength(1);
  expect(after).toEqual(await undisturbed(new RunView(await page.context().newPage()), dev.url, x.id));
});

test("a page that knows more than its server drops what the server has not", async ({ browser }) => {
  const dev = await startDev();
  const context = await browser.newContext();
  const x = await start(dev.client(), "short", "begin");
  await signInTo(context, dev);
  const run = new RunView(await context.newPage());
  await run.open(dev.url, x.id);
  await run.yourTurn();
  await dev.kill();
  dev.copyData("earlier");
  await dev.start();
  await run.say("lost with the disk");
  await expect(run.assistant.last()).toContainText("Answer 1.");
  await dev.kill();
  dev.restoreData("earlier");
  await dev.start();
  await expect(run.user).toHaveCount(1, { timeout: 60_000 });
  await expect(run.assistant).toHaveText([/Ready\./]);
  await run.yourTurn();
  await context.close();
  await dev.close();
});
