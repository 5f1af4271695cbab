import { describe, expect, test } from "vitest";
import type { Snapshot } from "../src/events";
import { foldView } from "../src/fold";
import { HeldLog } from "../src/held";
import { phaseOf } from "../src/view";
import { type Log, LogWriter, recordedRun, tangledRun } from "./log";

function viewOf(log: Log) {
  const held = new HeldLog();
  for (const e of log) expect(held.apply(e)).toBe("taken");
  return foldView(held.messages);
}

const until = (log: Log, last: (e: Log[number]) => boolean) => log.slice(0, log.findIndex(last) + 1);

describe("status", () => {
  test("WAITING for a task is still running; for a signal it is the user's turn", () => {
    expect(phaseOf("WAITING", "task")).toBe("working");
    expect(phaseOf("WAITING", "signal")).toBe("your_turn");
    expect(phaseOf("WAITING", "question")).toBe("asks");
    expect(phaseOf("WAITING", "something of a later server" as "task")).toBe("working");
    expect(phaseOf("WAITING", "timer")).toBe("sleeping");
    expect(phaseOf("PENDING", null)).toBe("queued");
  });

  test.each([
    [{ status: "PENDING" }, { running: true, input: "steer" }],
    [{ status: "RUNNING" }, { running: true, input: "steer" }],
    [
      { status: "WAITING", reason: "task" },
      { running: true, input: "steer" },
    ],
    [
      { status: "WAITING", reason: "signal" },
      { running: false, input: "follow_up" },
    ],
    [
      { status: "WAITING", reason: "timer" },
      { running: false, input: "steer" },
    ],
    [
      { status: "WAITING", reason: "question" },
      { running: false, input: "steer", phase: "asks" },
    ],
    [
      { status: "WAITING", reason: "something of a later server" },
      { running: true, input: "steer", phase: "working" },
    ],
    [{ status: "CANCELLING" }, { running: true, input: null }],
    [{ status: "COMPLETED" }, { running: false, input: null, ended: true }],
  ])("%o is shown as %o", (stands, want) => {
    const w = new LogWriter();
    w.event(stands.status === "WAITING" ? "agent.waiting" : "agent.resumed", stands);
    expect(viewOf(w.log)).toMatchObject({ ...want, inputEnabled: want.input !== null });
  });

  test("the reason why a response ended holds until the run goes on", () => {
    const w = new LogWriter();
    expect(viewOf(w.log).stopReason).toBeNull();
    w.event("data", { data: { type: "response_end", stopReason: "turn_limit" } });
    w.event("agent.waiting", { status: "WAITING", reason: "signal", wait: { signal: "userMessage" } });
    expect(viewOf(w.log).stopReason).toBe("turn_limit");
    w.event("agent.resumed", { status: "RUNNING" });
    expect(viewOf(w.log).stopReason).toBeNull();
  });

  test("a message that is received makes the run busy before it goes on", () => {
    const w = new LogWriter();
    w.event("agent.waiting", { status: "WAITING", reason: "signal", wait: { signal: "userMessage" } });
    w.event("signal.received", { signalId: "s", signalName: "userMessage", signalValue: { text: "hi" } });
    expect(viewOf(w.log)).toMatchObject({ phase: "queued", running: true, queued: [{ signalId: "s" }] });
    w.event("agent.resumed", { status: "RUNNING" });
    w.event("entry.appended", {
      id: "u",
      entryType: "message",
      role: "user",
      content: { parts: [{ text: "hi", type: "text" }] },
    });
    expect(viewOf(w.log)).toMatchObject({ queued: [], messages: [{ role: "user" }] });
  });

  test.each([
    ["task", { task: "t" }, "working"],
    ["timer", { timer: "2026-03-04T04:06:07.100Z" }, "sleeping"],
    ["signal", { signal: "approval" }, "your_turn"],
    ["question", { question: "q" }, "asks"],
    ["question", { any: [{ question: "q" }, { signal: "userMessage" }] }, "queued"],
    ["task", { all: [{ task: "t" }, { signal: "userMessage" }] }, "working"],
    ["task", { any: [{ task: "t" }, { signal: "user*" }] }, "queued"],
    ["signal", { any: [{ signal: "retry" }, { signal: "userMessage" }] }, "queued"],
  ])("a message while it waits for a %s, %o, is shown as %s", (reason, wait, phase) => {
    const w = new LogWriter();
    w.event("agent.waiting", { status: "WAITING", reason, wait });
    w.event("signal.received", { signalId: "s", signalName: "userMessage", signalValue: { text: "hi" } });
    expect(viewOf(w.log)).toMatchObject({ phase, queued: [{ signalId: "s" }] });
  });
});

describe("messages", () => {
  test("a recorded run: text, thinking, calls with output and result", () => {
    const view = viewOf(recordedRun());
    expect(view.messages.map((m) => [m.role, m.parts.map((p) => p.type)])).toEqual([
      ["user", ["text"]],
      ["assistant", ["thinking", "text", "toolCall", "toolCall"]],
      ["assistant", ["text"]],
    ]);
    expect(view.messages[1]?.parts[2]).toMatchObject({
      name: "bash",
      state: "done",
      arguments: { command: expect.stringContaining("öut") },
      terminal: [
        { stream: "stdout", text: "öut 1\nöut 2\nöut 3\n", open: false },
        { stream: "stderr", text: "err\n" },
      ],
      result: { isError: false, parts: [{ text: expect.stringContaining("[exit code 0]") }] },
    });
    expect(view.files).toMatchObject([{ path: "go.mod", action: "read" }]);
    expect(view).toMatchObject({ status: "COMPLETED", ended: true, error: null });
  });

  test("what is being said is shown as it grows, before there is an entry", () => {
    const log = recordedRun();
    const start = viewOf(until(log, (e) => e.event === "data"));
    expect(start.messages.at(-1)).toMatchObject({
      stored: false,
      parts: [
        { type: "thinking" },
        { type: "text", text: "I will look around: 漢字 and 🎉 emoji." },
        { name: "bash", state: "writing" },
      ],
    });
    const running = viewOf(until(log, (e) => e.event === "terminal"));
    expect(running.messages.at(-1)).toMatchObject({ stored: true });
    expect(running.messages.at(-1)?.parts[2]).toMatchObject({
      state: "running",
      terminal: [{ text: "öut 1\n", open: true }],
    });
  });

  test("what a superseded attempt said is dropped, its calls too", () => {
    const log = tangledRun();
    const before = viewOf(until(log, (e) => e.event === "data"));
    expect(before.messages[0]?.parts).toMatchObject([
      { text: "Perhaps ☂" },
      { text: "Wrong: ☂ and 漢" },
      { name: "bash" },
    ]);
    // The closed blocks of the failed attempt are dropped, too, before the next attempt begins.
    const failed = viewOf(until(log, (e) => e.event === "task.retrying"));
    expect(failed.messages[0]?.parts.filter((p) => p.type !== "toolCall")).toEqual([]);
    const after = viewOf(until(log, (e) => e.event === "thinking" && e.data.attempt === 2));
    expect(after.messages[0]?.parts).toMatchObject([{ type: "thinking", text: "Hm" }]);
  });

  test("an entry whose content is left out keeps what was said", () => {
    const w = new LogWriter();
    w.close(w.open("token", "long", { messageId: "m" }));
    w.event("entry.appended", {
      id: "m",
      entryType: "message",
      role: "assistant",
      content: null,
      contentBytes: 300_000,
    });
    expect(viewOf(w.log).messages).toMatchObject([
      {
        stored: true,
        absent: { entryId: "m", bytes: 300_000, onWorker: false },
        parts: [{ text: "long" }],
      },
    ]);
  });

  test("an error is shown until the run goes on", () => {
    const w = new LogWriter();
    w.event("error", { message: "no", code: "model_auth" });
    expect(viewOf(w.log).error).toEqual({ message: "no", code: "model_auth" });
    w.event("agent.resumed", { status: "RUNNING" });
    expect(viewOf(w.log).error).toBeNull();
  });
});

test("a snapshot and the events after its cursor are the whole log", () => {
  const log = recordedRun();
  const whole = viewOf(log);
  for (let cut = 1; cut < log.length; cut++) {
    const snapshot = snapshotAt(log.slice(0, cut));
    if (!snapshot) continue;
    const held = new HeldLog();
    held.begin(snapshot);
    for (const e of log.slice(cut)) expect(held.apply(e)).toBe("taken");
    const view = foldView(held.messages, { snapshot });
    expect(view.status).toBe(whole.status);
    expect(view.messages.map((m) => m.parts.map((p) => ("text" in p ? p.text : p.type)))).toEqual(
      whole.messages.map((m) => m.parts.map((p) => ("text" in p ? p.text : p.type))),
    );
  }
});

/**
 * Returns the server's snapshot after these records. Returns null while the last message is not
 * stored, because a snapshot may lack the beginning of that message.
 */
function snapshotAt(log: Log): Snapshot | null {
  const held = new HeldLog();
  for (const e of log) held.apply(e);
  const entries = held.messages.flatMap((m) =>
    m.kind === "event" && m.event.event === "entry.appended" && m.event.data.entryType === "message"
      ? [m.event.data]
      : [],
  );
  const view = foldView(held.messages);
  if (view.messages.at(-1)?.stored === false) return null;
  const execution = {
    status: view.status,
    waitReason: view.waitReason ?? undefined,
    maxSeq: held.lastSeenSeq,
    error: null,
  };
  const openBlocks = held.messages.flatMap((m) =>
    m.kind === "block" && m.state === "open"
      ? [{ ...m.data, type: m.type, offset: 0, data: m.text, snapshot: true }]
      : [],
  );
  return { execution, entries, entriesBefore: 0, openBlocks, cursor: "c" } as unknown as Snapshot;
}

test("of a LOCAL run that is followed late there is what the server knows", () => {
  const log = recordedRun().map((e) => {
    const { data } = e as unknown as { data: Record<string, unknown> };
    if (e.event === "entry.appended") return { ...e, data: { ...data, content: "worker", contentBytes: 9 } };
    if (!("data" in data)) return e;
    const { data: text, ...rest } = data;
    const length = new TextEncoder().encode(typeof text === "string" ? text : lengthOf(text)).length;
    return { ...e, data: { ...rest, content: "worker", length } };
  }) as Log;
  const held = new HeldLog();
  for (const e of log) expect(held.apply(e)).toBe("taken");
  const view = foldView(held.messages);
  expect(view).toMatchObject({ status: "COMPLETED", ended: true });
  expect(view.messages.length).toBeGreaterThan(1);
  expect(view.messages.every((m) => m.stored && m.absent?.onWorker && m.parts.length === 0)).toBe(true);
});

/** Returns the text of a piece of arguments, or of an event. */
function lengthOf(data: unknown): string {
  return (data as { delta?: string }).delta ?? JSON.stringify(data);
}
