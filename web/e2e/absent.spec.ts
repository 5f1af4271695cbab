import { deflateSync } from "node:zlib";
import { eventually } from "../client/e2e/server";
import { expect, RunView, test } from "./stand";

/** Returns an image of one grey pixel, with the given number of bytes of text. */
function png(bytes: number): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", head),
    chunk("tEXt", Buffer.concat([Buffer.from("Comment\0"), Buffer.alloc(bytes, "x")])),
    chunk("IDAT", deflateSync(Buffer.from([0, 127]))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function crc(of: Buffer): number {
  let sum = 0xffffffff;
  for (const byte of of) {
    sum ^= byte;
    for (let i = 0; i < 8; i++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return (sum ^ 0xffffffff) >>> 0;
}

const models = [{ provider: "scripted", modelId: "picture" }];
const start = { userPrompt: "what is on it", models, tools: ["read-file"] };

test("a result over 256 KiB is fetched, one over a megabyte when it is asked for", async ({ page, dev }) => {
  dev.file("large.png", png(300_000));
  const run = new RunView(page);
  await run.open(dev.url, (await dev.client().executions.create(start)).id);
  await run.yourTurn();
  const card = page.getByRole("region", { name: "Tool read-file" });
  await card.getByRole("button", { name: "read-file" }).click();
  await expect(card.getByRole("img", { name: "Result of read-file" })).toBeVisible();

  dev.file("large.png", png(1_000_000));
  await run.open(dev.url, (await dev.client().executions.create(start)).id);
  await run.yourTurn();
  await card.getByRole("button", { name: "read-file" }).click();
  await expect(card).toContainText("The whole result is large: 1.3 MB.");
  const file = page.waitForEvent("download");
  await card.getByRole("button", { name: "Download it" }).click();
  expect((await file).suggestedFilename()).toMatch(/^entry-.*\.json$/);
  await card.getByRole("button", { name: "Show it" }).click();
  await expect(card.getByRole("img", { name: "Result of read-file" })).toBeVisible();
});

test.describe("of a LOCAL run", () => {
  test.use({ allowed: [/status of 503/] });

  test("what is on the worker shows while that is connected, else a line says that it is away", async ({
    page,
    dev,
  }) => {
    dev.file("large.png", png(300_000));
    let worker = dev.worker("home", "apart");
    const client = dev.client();
    const { id } = await client.executions.create({ ...start, queue: "apart", persistenceMode: "LOCAL" });
    await eventually("it waits", async () => (await client.executions.get(id)).waitReason === "signal");
    const run = new RunView(page);
    const picture = page.getByRole("img", { name: "Result of read-file" });
    const opened = page
      .getByRole("region", { name: "Tool read-file" })
      .getByRole("button", { name: "read-file" });
    await run.open(dev.url, id);
    await expect(run.assistant.last()).toContainText("I have seen it.");
    await opened.click();
    await expect(picture).toBeVisible();
    await expect(run.log).not.toContainText("On its worker");

    worker.kill("SIGKILL");
    await eventually(
      "it is missed",
      async () => (await client.executions.get(id)).input === ("worker" as unknown),
    );
    await page.reload();
    await expect(run.user.first()).toContainText(/On its worker \(\d+ B\), which is away since \d/);
    await expect(run.assistant.last()).toContainText("which is away");

    worker = dev.worker("home", "apart");
    await expect(run.user.first()).toContainText("what is on it");
    await expect(run.assistant.last()).toContainText("I have seen it.");
    await opened.click();
    await expect(picture).toBeVisible();
    await expect(run.log).not.toContainText("On its worker");
    worker.kill("SIGKILL");
  });
});
