import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { typesOf } from "../../scripts/generate.mjs";
import { type Execution, type Followed, type Following, HeldLog, PerdureError } from "../src/index";
import { plainMessages } from "../test/fakeserver";
import { CuttingProxy, randomFrom } from "./proxy";
import { Dev, eventually, open, program } from "./server";

const seed = Number(process.env.PERDURE_E2E_SEED ?? Math.floor(Math.random() * 2 ** 31));

const call = `  call bash {"command": "for i in 1 2 3 4; do echo öut $i; sleep 0.03; done; echo err >&2"}`;
const turn = (n: number) => `
turn
  thinking What is to be done — step ${n}: ünïcödé 🎉 thought, and some more of it.
  text I look around: 漢字 and 🎉, and say a few words more so that it takes a while to come.
${call}
  call bash {"command": "echo second ${n}; sleep 0.1"}
`;
const answer = (n: number) => `
turn
  text <<END
  Answer ${n}, with a list:

  - ä one
  - 漢 two
  END
`;
const script = `pace 4ms\n${turn(1)}${turn(2)}${answer(1)}${turn(3)}${answer(2)}${answer(3)}${answer(4)}`;

const dev = new Dev(program());
const quick = { first: 10, most: 200 };

beforeAll(async () => {
  console.log(`PERDURE_E2E_SEED=${seed}`);
  dev.script("talk", script);
  await dev.start();
});
afterAll(() => dev.close());

async function begin(): Promise<Execution> {
  return dev.client().executions.create({
    userPrompt: "begin",
    models: [{ provider: "scripted", modelId: "talk" }],
    tools: ["bash"],
  });
}

const answers = (now: Followed) =>
  now.view.messages.filter((m) => m.stored && m.role === "assistant" && m.stopReason === "end_turn").length;
const idle = (n: number) => (now: Followed) => now.view.phase === "your_turn" && answers(now) === n;
const isEnded = (now: Followed) => now.connection === "ended";

/**
 * Reads the log in pages without disturbance and returns what a client then holds, in a form
 * that can be compared.
 */
async function undisturbed(id: string) {
  const held = new HeldLog();
  for (let after: string | undefined; ; ) {
    const page = await dev.client().executions.events(id, { limit: 200, ...(after ? { after } : {}) });
    for (const e of page.items) if (held.apply(e) === "gap") throw new Error(`a gap at ${JSON.stringify(e)}`);
    if (page.upToDate) return held;
    after = page.nextCursor;
  }
}

/** Returns the conversation as text. */
function said(f: Following): string[] {
  return f.view.messages.map((m) =>
    [
      m.role,
      ...m.parts.map((p) =>
        p.type === "image"
          ? "image"
          : p.type === "toolCall"
            ? `${p.name}: ${JSON.stringify(p.result)} ${p.terminal.map((t) => t.text)}`
            : p.text,
      ),
    ].join("|"),
  );
}

async function compare(f: Following, id: string) {
  const held = await undisturbed(id);
  expect(plainMessages(f.held.messages)).toEqual(plainMessages(held.messages));
  const clean = dev.client().executions.follow(id);
  await clean.until(isEnded);
  expect(f.view).toEqual({ ...clean.view });
  expect(f.resets).toBe(0);
}

describe("REST", () => {
  test("the generated types are current", async () => {
    const document = await (await fetch(`${dev.url}/openapi.json`)).json();
    const written = readFileSync(new URL("../src/openapi.ts", import.meta.url), "utf8");
    expect(await typesOf(document), "PERDURE_URL=... npm run generate").toBe(written);
  });

  test("errors are typed and name the field", async () => {
    const { executions, definitions } = dev.client();
    const wrong = executions.create({ userPrompt: "x", models: [{ provider: "nobody", modelId: "x" }] });
    await expect(wrong).rejects.toMatchObject({ code: "invalid_argument", status: 400, retryable: false });
    const error = (await wrong.catch((e: unknown) => e)) as PerdureError;
    expect(error).toBeInstanceOf(PerdureError);
    expect(error.fields[0]?.location).toMatch(/^models/);
    await expect(definitions.get("nothing")).rejects.toMatchObject({ code: "not_found" });
  });

  test("definitions are created, replaced by version and deleted", async () => {
    const { definitions } = dev.client();
    const body = { name: "One", models: [{ provider: "scripted", modelId: "talk" }] };
    const d = await definitions.create(body);
    expect((await definitions.list()).items.map((i) => i.id)).toContain(d.id);
    const two = await definitions.replace(d.id, { ...body, name: "Two" }, { ifMatch: d.version });
    expect(two.name).toBe("Two");
    const stale = definitions.replace(d.id, body, { ifMatch: d.version });
    await expect(stale).rejects.toMatchObject({ code: "conflict" });
    await definitions.delete(d.id);
    await expect(definitions.get(d.id)).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("a run that is followed through a proxy that cuts, delays and delivers again", () => {
  test.each([
    "consolidated",
    "agent",
  ] as const)("over the stream %s: the same as undisturbed", async (stream) => {
    const proxy = new CuttingProxy(dev.port, {
      random: randomFrom(seed),
      within: 9000,
      cuts: 25,
      delay: 30,
    });
    const client = dev.client(await proxy.listen());
    const { id } = await begin();
    const f = client.executions.follow(id, { stream, ...quick });
    await f.until(idle(1));
    for (const text of ["go on", "and on", "and on"]) f.prompt(text);
    await f.until(
      (now) => now.view.queued.length === 0 && now.prompts.length === 0 && now.view.phase === "your_turn",
    );
    await dev.client().executions.cancel(id);
    await f.until(isEnded);
    expect(proxy.cuts).toBeGreaterThan(3);
    if (stream === "consolidated") await compare(f, id);
    const clean = dev.client().executions.follow(id, { stream });
    await clean.until(isEnded);
    expect(plainMessages(f.held.messages)).toEqual(plainMessages(clean.held.messages));
    expect(f.view).toEqual(clean.view);
    expect(f.view.messages.filter((m) => m.role === "user").map((m) => m.parts)).toMatchObject(
      ["begin", "go on", "and on", "and on"].map((text) => [{ text }]),
    );
    await proxy.close();
  });

  test("over the WebSocket: the same as undisturbed, each prompt once and in order", async () => {
    const proxy = new CuttingProxy(dev.port, {
      random: randomFrom(seed + 1),
      within: 6000,
      cuts: 25,
      delay: 30,
    });
    const client = dev.client(await proxy.listen());
    const { id } = await begin();
    const f = client.executions.connect(id, { open, limit: 1000, ...quick });
    await f.until(idle(1));
    for (const text of ["go on", "and on", "and on"]) f.prompt(text);
    await f.until(
      (now) => now.view.queued.length === 0 && now.prompts.length === 0 && now.view.phase === "your_turn",
    );
    await dev.client().executions.cancel(id);
    await f.until(isEnded);
    expect(proxy.cuts).toBeGreaterThan(3);
    await compare(f, id);
    expect(f.view.messages.filter((m) => m.role === "user").map((m) => m.parts)).toMatchObject(
      ["begin", "go on", "and on", "and on"].map((text) => [{ text }]),
    );
    await proxy.close();
  });
});

test("the server is killed and started again in the middle", async () => {
  const { id } = await begin();
  const followers: Following[] = [
    dev.client().executions.follow(id, quick),
    dev.client().executions.connect(id, { open, ...quick }),
  ];
  const [stream, socket] = followers as [Following, Following];
  await stream.until((now) => now.view.messages.some((m) => m.parts.some((p) => p.type === "toolCall")));
  await dev.kill();
  await socket.until((now) => now.connection === "waiting");
  await dev.start();
  for (const f of followers) await f.until(idle(1));
  await dev.client().executions.cancel(id);
  for (const f of followers) {
    await f.until(isEnded);
    expect(f.cuts).toBeGreaterThan(0);
    await compare(f, id);
  }
  expect(said(stream)).toEqual(said(socket));
});

test("from a snapshot: what is shown is the same as from the start", async () => {
  const { id } = await begin();
  await eventually("the run works", async () => (await dev.client().executions.get(id)).maxSeq > 12);
  const f = dev.client().executions.follow(id, { snapshot: true });
  await f.until((now) => answers(now) === 1 && now.view.phase === "your_turn");
  await dev.client().executions.cancel(id);
  await f.until(isEnded);
  const clean = dev.client().executions.follow(id);
  await clean.until(isEnded);
  const texts = (g: Following) =>
    g.view.messages.map((m) => m.parts.map((p) => ("text" in p ? p.text : p.type)));
  expect(texts(f)).toEqual(texts(clean));
  expect(f.view.status).toBe("CANCELLED");
});

test("older pages are prepended until the first event is held", async () => {
  const { id } = await begin();
  const whole = dev.client().executions.follow(id);
  await whole.until(idle(1));
  const f = dev.client().executions.connect(id, { open, limit: 7 });
  await f.until((now) => now.connection === "live");
  expect(f.held.messages.length).toBe(7);
  const newest = f.held.lastSeenSeq;
  while (f.hasOlder) await f.loadOlder();
  expect([f.held.messages[0]?.seq, f.held.lastSeenSeq]).toEqual([1, newest]);
  expect(f.view).toEqual(whole.view);
  f.stop();
  whole.stop();
});

test("a key that is wrong is final, over both", async () => {
  const { id } = await begin();
  const { PerdureClient } = await import("../src/index");
  const client = new PerdureClient({ baseUrl: dev.url, key: "wrong" });
  for (const f of [client.executions.follow(id, quick), client.executions.connect(id, { open, ...quick })]) {
    await expect(f.until(() => false)).rejects.toMatchObject({ code: "unauthenticated" });
    expect(f.connection).toBe("failed");
  }
  await dev.client().executions.cancel(id);
});

describe("webhooks", () => {
  test("are made, changed, rotated and deleted", async () => {
    const { webhooks } = dev.client();
    const made = await webhooks.create({
      url: "https://example.com/hook",
      events: ["agent.completed"],
      enabled: false,
    });
    expect(made.secret).toMatch(/^whsec_/);
    expect((await webhooks.list()).items.map((w) => w.id)).toEqual([made.id]);
    const body = { url: "https://example.com/other", events: ["question.*"], description: "for us" };
    const changed = await webhooks.replace(made.id, body, { version: made.version });
    expect(changed).toMatchObject({ ...body, enabled: false });
    await expect(webhooks.replace(made.id, body, { version: made.version })).rejects.toBeInstanceOf(
      PerdureError,
    );
    const rotated = await webhooks.rotate(made.id);
    expect(rotated.secret).not.toBe(made.secret);
    expect((await webhooks.get(made.id)).oldSecretUntil).toBeTruthy();
    expect((await webhooks.deliveries(made.id, { status: "pending" })).items).toEqual([]);
    await expect(webhooks.delivery(made.id, made.id)).rejects.toMatchObject({ code: "not_found" });
    await webhooks.delete(made.id);
    expect((await webhooks.list()).items).toEqual([]);
  });
});

describe("interrupts", () => {
  test("tell whether there was a turn to stop", async () => {
    const x = await begin();
    expect(await dev.client().executions.interrupt(x.id, { reason: "enough" })).toMatchObject({
      stopped: true,
    });
    await eventually(
      "the turn is stopped",
      async () => (await dev.client().executions.get(x.id)).waitReason === "signal",
    );
    expect(await dev.client().executions.interrupt(x.id)).toMatchObject({ stopped: false });
  });
});
