import { expect, test } from "vitest";
import type { Clock } from "../src/backoff";
import { PerdureClient } from "../src/client";
import type { LogEvent } from "../src/events";
import type { SocketFollower, WebSocketLike } from "../src/socket";

const clock: Clock = { sleep: () => new Promise((resolve) => setTimeout(resolve, 0)), random: () => 0.5 };

/** The server's end of one connection. */
class FakeSocket implements WebSocketLike {
  readonly sent: { type: string; data: Record<string, unknown> }[] = [];
  onopen: ((e: never) => void) | null = null;
  onmessage: ((e: never) => void) | null = null;
  onclose: ((e: never) => void) | null = null;
  onerror: ((e: never) => void) | null = null;
  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }
  close(): void {
    // The client has closed the connection and receives nothing more.
  }
  get loads() {
    return this.sent.filter((m) => m.type === "load_events").map((m) => m.data);
  }
  get prompts() {
    return this.sent.filter((m) => m.type === "prompt").map((m) => m.data);
  }
  says(type: string, data: object): void {
    this.onmessage?.({ data: JSON.stringify({ type, data }) } as never);
  }
  connected(maxSeq: number): this {
    this.onopen?.({} as never);
    this.says("connected", { agent_execution_id: "x1", status: "RUNNING", max_seq: maxSeq });
    return this;
  }
  page(events: LogEvent[], more: object = {}): void {
    const seqs = events.map((e) => (e.data as { seq: number }).seq);
    this.says("events_loaded", {
      events,
      first_seq: seqs[0] ?? 0,
      last_seq: seqs.at(-1) ?? 0,
      max_seq: seqs.at(-1) ?? 0,
      has_more: false,
      prepend: false,
      is_stale_client: false,
      ...more,
    });
  }
  cut(code = 1006): void {
    this.onclose?.({ code, reason: "" } as never);
  }
}

const note = (seq: number, log = "a") =>
  ({
    cursor: "",
    event: "agent.resumed",
    data: { seq, agentExecutionId: "x1", createdAt: `${log}${seq}`, status: "RUNNING" },
  }) as LogEvent;

function start(): { f: SocketFollower; next: () => Promise<FakeSocket> } {
  const opened: FakeSocket[] = [];
  let given = 0;
  const client = new PerdureClient({
    baseUrl: "http://server",
    fetch: async () => new Response("{}", { headers: { "Content-Type": "application/json" } }),
  });
  const f = client.executions.connect("x1", {
    clock,
    open: (url) => {
      expect(url).toBe("ws://server/api/orgs/default/agent-executions/x1/ws");
      const socket = new FakeSocket();
      opened.push(socket);
      return socket;
    },
  });
  const next = async () => {
    for (;;) {
      const socket = opened[given];
      if (socket) {
        given++;
        return socket;
      }
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  };
  return { f, next };
}

const seqs = (f: SocketFollower) => f.held.messages.map((m) => m.seq);

test("it begins with the newest events, and goes on after what is held", async () => {
  const { f, next } = start();
  const one = (await next()).connected(90);
  expect(one.loads).toEqual([{ limit: 50 }]);
  one.page([note(41), note(42)], { max_seq: 90, has_more: true });
  one.says("event", note(43));
  one.cut();
  const two = (await next()).connected(95);
  // 42, not the server's 95: the newest held event is requested again, which shows whether the
  // log is still the same.
  expect(two.loads).toEqual([{ after_seq: 42, limit: 1000 }]);
  two.page([note(43), note(44)], { has_more: true, max_seq: 45 });
  expect(two.loads[1]).toEqual({ after_seq: 44, limit: 1000 });
  two.page([note(45)]);
  expect(seqs(f)).toEqual([41, 42, 43, 44, 45]);
  expect([f.resets, f.cuts, f.connection]).toEqual([0, 1, "live"]);
  f.stop();
});

test("is_stale_client: what is held is dropped before the page is processed", async () => {
  const { f: g, next: nextOf } = start();
  const first = (await nextOf()).connected(9);
  first.page([note(8), note(9)]);
  first.cut();
  const two = (await nextOf()).connected(2);
  two.page([note(1, "b"), note(2, "b")], { is_stale_client: true });
  expect(seqs(g)).toEqual([1, 2]);
  expect(g.held.messages.map((m) => m.createdAt)).toEqual(["b1", "b2"]);
  expect(g.resets).toBe(1);
  two.says("event", note(3, "b"));
  expect(seqs(g)).toEqual([1, 2, 3]);
  g.stop();
});

test("a log that was restored, and is further by now, is noticed", async () => {
  const { f, next } = start();
  const one = (await next()).connected(9);
  one.page([note(8), note(9)]);
  one.cut();
  const two = (await next()).connected(20);
  two.page([note(9, "b"), note(10, "b")]);
  expect(seqs(f)).toEqual([]);
  expect(two.loads.at(-1)).toEqual({ limit: 50 });
  two.page([note(19, "b"), note(20, "b")], { has_more: true });
  expect(seqs(f)).toEqual([19, 20]);
  f.stop();
});

test("prepend never moves the watermark, and never resets", async () => {
  const { f, next } = start();
  const one = (await next()).connected(9);
  one.page([note(8), note(9)], { has_more: true });
  const older = f.loadOlder();
  expect(one.loads.at(-1)).toEqual({ before_seq: 8, limit: 50 });
  one.page([note(6), note(7)], { prepend: true, has_more: false, max_seq: 9 });
  await older;
  expect(seqs(f)).toEqual([6, 7, 8, 9]);
  expect([f.held.lastSeenSeq, f.resets, f.hasOlder]).toEqual([9, 0, false]);
  one.cut();
  expect((await next()).connected(9).loads).toEqual([{ after_seq: 8, limit: 1000 }]);
  f.stop();
});

test("a missing event loads again", async () => {
  const { f, next } = start();
  const one = (await next()).connected(2);
  one.page([note(1), note(2)]);
  one.says("event", note(4));
  const two = (await next()).connected(4);
  expect(two.loads).toEqual([{ after_seq: 1, limit: 1000 }]);
  two.page([note(2), note(3), note(4)]);
  expect(seqs(f)).toEqual([1, 2, 3, 4]);
  f.stop();
});

test("a prompt is shown at once, sent again with its id until acknowledged, and its order stays", async () => {
  const { f, next } = start();
  const one = (await next()).connected(1);
  one.page([note(1)]);
  f.prompt("first", "p1");
  f.prompt("second", "p2");
  expect(f.current.prompts.map((p) => [p.id, p.state])).toEqual([
    ["p1", "pending"],
    ["p2", "pending"],
  ]);
  expect(one.prompts).toEqual([{ prompt_id: "p1", text: "first" }]);
  one.cut(); // the acknowledgement is lost
  const two = (await next()).connected(1);
  expect(two.prompts).toEqual([{ prompt_id: "p1", text: "first" }]);
  two.says("prompt_ack", { prompt_id: "p1" });
  while (two.prompts.length === 1) await new Promise((resolve) => setTimeout(resolve, 0));
  expect(two.prompts.map((p) => p.prompt_id)).toEqual(["p1", "p2"]);
  two.says("error", { code: "execution_ended", message: "over", prompt_id: "p2" });
  await f.until((now) => now.prompts.some((p) => p.state === "refused"));
  expect(f.current.prompts.map((p) => [p.id, p.state])).toEqual([
    ["p1", "acknowledged"],
    ["p2", "refused"],
  ]);
  f.stop();
});

test("the end stops, a revoked key is final", async () => {
  const { f, next } = start();
  const one = (await next()).connected(1);
  one.page([note(1)]);
  one.says("event", { cursor: "", event: "end", data: {} });
  await f.until((now) => now.connection === "ended");

  const { f: g, next: nextOf } = start();
  (await nextOf()).connected(1).cut(1008);
  await expect(g.until(() => false)).rejects.toMatchObject({ code: "unauthenticated" });
});

test("a page that is refused is told, and can be asked for again", async () => {
  const { f, next } = start();
  const one = (await next()).connected(90);
  one.page([note(41)], { has_more: true });
  const refused = f.loadOlder();
  one.says("error", { code: "unavailable", message: "the store does not answer" });
  await expect(refused).rejects.toMatchObject({ code: "unavailable" });
  const older = f.loadOlder();
  one.page([note(40)], { max_seq: 90, prepend: true });
  await older;
  expect(seqs(f)).toEqual([40, 41]);
  f.stop();
});
