import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Backoff, type Clock } from "../src/backoff";
import { PerdureClient } from "../src/client";
import { PerdureError } from "../src/errors";
import { type Prompt, PromptQueue } from "../src/prompts";
import { EventParser } from "../src/sse";
import { byteLength, withoutBytes } from "../src/utf8";

const clock: Clock = { sleep: () => new Promise((resolve) => setImmediate(resolve)), random: () => 0.5 };
const turns = async (n = 5) => {
  for (let i = 0; i < n; i++) await new Promise((resolve) => setImmediate(resolve));
};

describe("UTF-8", () => {
  const text = fc.string({ unit: "grapheme" });
  test("lengths are those of the encoder", () => {
    fc.assert(fc.property(text, (s) => byteLength(s) === new TextEncoder().encode(s).length));
  });
  test("known bytes are left off, and no character is split", () => {
    fc.assert(fc.property(text, text, (a, b) => withoutBytes(a + b, byteLength(a)) === b));
    expect(withoutBytes("é", 1)).toBeNull();
  });
});

describe("server-sent events", () => {
  test("any way of cutting the text gives the same events", () => {
    const text =
      '\ufeff: hello\nid: 1\nevent: a\ndata: {"x":\ndata: 1}\n\nid:2\r\ndata: b\r\n\r\nevent: empty\n\ndata: c\rid\r\rdata: lost';
    const want = [
      { id: "1", event: "a", data: '{"x":\n1}' },
      { id: "2", event: "message", data: "b" },
      { id: "", event: "message", data: "c" },
    ];
    expect(new EventParser().push(text)).toEqual(want);
    fc.assert(
      fc.property(fc.array(fc.nat(text.length)), (cuts) => {
        const p = new EventParser();
        const at = [0, ...cuts.sort((a, b) => a - b), text.length];
        expect(at.slice(1).flatMap((end, i) => p.push(text.slice(at[i], end)))).toEqual(want);
      }),
    );
  });
});

describe("backoff", () => {
  const pauses = (random: number, n: number) => {
    const b = new Backoff({ ...clock, random: () => random });
    return Array.from({ length: n }, () => b.next());
  };
  test("1 s × 2ⁿ to 30 s, of which up to a half is left off", () => {
    expect(pauses(1, 7)).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    expect(pauses(0, 3)).toEqual([500, 1000, 2000]);
  });
  test("success begins anew, and the server's own wish is heeded", () => {
    const b = new Backoff({ ...clock, random: () => 1 });
    b.next();
    b.next();
    b.worked();
    expect(b.next()).toBe(1000);
    expect(b.next(60_000)).toBe(60_000);
  });
});

describe("errors", () => {
  const answering = (status: number, body: string, headers: Record<string, string> = {}) =>
    new PerdureClient({
      baseUrl: "http://server",
      fetch: async () => new Response(body, { status, headers }),
    });

  test("problem+json becomes a typed error", async () => {
    const problem = {
      type: "t",
      title: "T",
      status: 409,
      detail: "it is over",
      code: "execution_ended",
      errors: [],
    };
    const client = answering(409, JSON.stringify(problem), { "Content-Type": "application/problem+json" });
    const error = await client.executions.get("x").catch((e: unknown) => e);
    expect(error).toBeInstanceOf(PerdureError);
    expect(error).toMatchObject({
      code: "execution_ended",
      message: "it is over",
      status: 409,
      retryable: false,
    });
  });
  test("what something in between answers is told by its status", async () => {
    const client = answering(503, "<html>", { "Retry-After": "7" });
    await expect(client.executions.list()).rejects.toMatchObject({
      code: "unavailable",
      retryable: true,
      retryAfter: 7000,
    });
  });
  test("no answer is unavailable", async () => {
    const client = new PerdureClient({
      baseUrl: "http://server",
      fetch: () => Promise.reject(new TypeError("refused")),
    });
    await expect(client.executions.get("x")).rejects.toMatchObject({ code: "unavailable", status: 0 });
  });
});

describe("prompts", () => {
  test("whatever is lost on the way, each arrives once and in order", async () => {
    const outcome = fc.constantFrom("lost", "unanswered", "answered");
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string(), { maxLength: 6 }),
        fc.array(outcome),
        async (texts, outcomes) => {
          const arrived = new Map<string, string>(); // as the server stores them: by id
          const left = [...outcomes];
          const queue = new PromptQueue({
            clock,
            async send(p: Prompt) {
              const what = left.shift() ?? "answered";
              if (what !== "lost") arrived.set(p.id, p.text);
              if (what !== "answered") throw new PerdureError("unavailable", what);
            },
          });
          for (const text of texts) queue.add(text);
          expect(queue.prompts.map((p) => p.text)).toEqual(texts); // shown at once
          while (queue.prompts.some((p) => p.state === "pending")) await turns();
          expect([...arrived.values()]).toEqual(texts);
          expect(queue.prompts.map((p) => p.id)).toEqual([...arrived.keys()]);
        },
      ),
    );
  });

  test("one that is refused does not hold up the next", async () => {
    const queue = new PromptQueue({
      clock,
      async send(p) {
        if (p.text === "bad") throw new PerdureError("invalid_argument", "no");
      },
    });
    const bad = queue.add("bad");
    queue.add("good");
    await turns();
    expect(queue.prompts.map((p) => p.state)).toEqual(["refused", "acknowledged"]);
    queue.dismiss(bad.id);
    expect(queue.prompts.map((p) => p.text)).toEqual(["good"]);
  });

  test("one that the log shows is not sent again, and is shown once", async () => {
    let sent = 0;
    const queue: PromptQueue = new PromptQueue({
      clock,
      async send(p) {
        sent++;
        queue.seen(p.id); // the log is faster than the reply, which is lost
        throw new PerdureError("unavailable", "lost");
      },
    });
    queue.add("hello", "p1");
    await turns();
    expect([sent, queue.prompts]).toEqual([1, []]);
    queue.add("hello", "p1");
    await turns();
    expect([sent, queue.prompts]).toEqual([1, []]);
  });
});
