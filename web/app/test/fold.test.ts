import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Entry, foldView, HeldLog, type Prompt, ViewFold } from "../../client/src/index";
import { type Log, LogWriter, recordedRun, tangledRun } from "../../client/test/log";
import { fetching, sinceIn } from "../fold/absent";
import { rowsOf } from "../fold/rows";
import { spansOf } from "../fold/timings";
import { branchesOf } from "../fold/tree";

const logs: [string, Log][] = [
  ["the recorded run", recordedRun()],
  ["the tangled run", tangledRun()],
];

describe.each(logs)("%s", (_, log) => {
  test("taken in by pieces of any size, the view is that of all at once", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(12), { minLength: 1, maxLength: 200 }), (sizes) => {
        const held = new HeldLog();
        held.takeChanges();
        let fold = new ViewFold();
        for (let at = 0, i = 0; at < log.length; i++) {
          const size = 1 + (sizes[i % sizes.length] ?? 0);
          for (const e of log.slice(at, at + size)) held.apply(e);
          at += size;
          const changes = held.takeChanges();
          if (!changes?.every((m) => fold.take(m))) {
            fold = new ViewFold();
            for (const m of held.messages) fold.take(m);
          }
          expect(fold.view()).toEqual(foldView(held.messages));
        }
      }),
      { numRuns: 100 },
    );
  });

  test("begun at any event and loaded backwards, the view is that of the whole log", () => {
    const whole = new HeldLog();
    for (const e of log) whole.apply(e);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: whole.messages.length }), (from) => {
        // The page of the log from that position on, and then the page before it.
        const newer = whole.messages.slice(from - 1);
        const older = whole.messages.slice(0, from - 1);
        expect(foldView([...older, ...newer])).toEqual(foldView(whole.messages));
        const late = foldView(newer);
        expect(late.status).toBe(foldView(whole.messages).status);
        // The view of the newer part is a part of the whole view.
        const ids = foldView(whole.messages).messages.map((m) => m.id);
        expect(ids.filter((id) => late.messages.some((m) => m.id === id))).toEqual(
          late.messages.map((m) => m.id),
        );
      }),
    );
  });
});

test("what has not changed stays the same object, so that it is not drawn again", () => {
  const w = new LogWriter();
  const entry = (id: string, role: string, text: string) =>
    w.event("entry.appended", {
      id,
      entryType: "message",
      role,
      content: { parts: [{ type: "text", text }] },
    });
  w.event("agent.started", { status: "RUNNING" });
  entry("u1", "user", "hi");
  entry("a1", "assistant", "hello");
  const block = w.open("token", "More", { messageId: "a2", taskExecutionId: "t", attempt: 1 });
  w.chunk("token", block, " and more", { messageId: "a2", taskExecutionId: "t", attempt: 1 });
  const held = new HeldLog();
  const fold = new ViewFold();
  for (const e of w.log.slice(0, -1)) held.apply(e);
  for (const m of held.messages) fold.take(m);
  held.takeChanges();
  const before = fold.view();
  const last = w.log.at(-1);
  if (last) held.apply(last);
  for (const m of held.takeChanges() ?? []) expect(fold.take(m)).toBe(true);
  const after = fold.view();
  expect(after.messages[2]?.parts).toEqual([{ type: "text", text: "More and more", open: true }]);
  expect(after.messages[0]).toBe(before.messages[0]);
  expect(after.messages[1]).toBe(before.messages[1]);
  expect(rowsOf(after, [])[0]).toBe(rowsOf(before, [])[0]);
  expect(rowsOf(after, [])[2]).not.toBe(rowsOf(before, [])[2]);
});

test("what is sent stands last and once, also while the log shows it already", () => {
  const w = new LogWriter();
  w.event("agent.waiting", { status: "WAITING", reason: "signal", wait: { signal: "userMessage" } });
  w.event("signal.received", { signalId: "p1", signalName: "userMessage", signalValue: { text: "one" } });
  const held = new HeldLog();
  for (const e of w.log) held.apply(e);
  const prompt = (id: string): Prompt => ({ id, text: id, images: [], state: "pending", error: null });
  const rows = rowsOf(foldView(held.messages), [prompt("p1"), prompt("p2")]);
  expect(rows.map((r) => [r.kind, r.id])).toEqual([
    ["queued", "p1"],
    ["sent", "p2"],
  ]);
});

test("the waterfall has each turn with its model call and its tools, and nothing runs after the end", () => {
  const w = new LogWriter();
  const task = { taskExecutionId: "t1", attempt: 1, turnId: "turn_0", kind: "llm-request" };
  const tool = { taskExecutionId: "t2", attempt: 1, turnId: "turn_0", kind: "bash" };
  w.event("task.started", task);
  w.event("task.completed", task);
  w.event("task.started", tool);
  const held = new HeldLog();
  for (const e of w.log) held.apply(e);
  expect(spansOf(held.messages).map((s) => [s.kind, s.label, s.outcome])).toEqual([
    ["turn", "Turn 1", "running"],
    ["model", "model", "done"],
    ["tool", "bash", "running"],
  ]);
  w.event("agent.cancelled", { status: "CANCELLED" });
  for (const e of w.log) held.apply(e);
  expect(spansOf(held.messages).filter((s) => s.outcome === "running")).toEqual([]);
});

test("the tree shows what is beside the path below its parent, without escape sequences", () => {
  const entry = (id: string, parentId: string | null, more: object) =>
    ({
      id,
      parentId,
      entryType: "message",
      createdAt: "2026-11-21T08:00:00Z",
      content: { parts: [] },
      ...more,
    }) as never;
  const rows = branchesOf([
    entry("u", null, { role: "user", content: { parts: [{ type: "text", text: "hi" }] } }),
    entry("a", "u", { role: "assistant", content: { parts: [{ type: "toolCall", id: "c", name: "bash" }] } }),
    entry("l", "a", { entryType: "llm_call", metadata: { model: { provider: "p", modelId: "m" } } }),
    entry("old", "u", { role: "assistant", content: { parts: [{ type: "text", text: "left behind" }] } }),
    entry("r", "a", {
      role: "tool_result",
      content: {
        parts: [
          { type: "toolResult", toolCallId: "c", parts: [{ type: "text", text: "\x1b[32mok\x1b[0m" }] },
        ],
      },
    }),
  ]);
  expect(rows.map((r) => [r.label, r.text, r.depth, r.beside])).toEqual([
    ["user", "hi", 0, false],
    ["assistant", "left behind", 1, true],
    ["assistant", "→ bash", 0, false],
    ["llm call", "p/m", 1, true],
    ["result", "ok", 0, false],
  ]);
});

describe("a content that is not in the log", () => {
  const parts = (text: string) => [{ type: "text", text } as const];
  const result = (text: string) => [
    { type: "toolResult", toolCallId: "c", toolName: "bash", parts: parts(text) },
  ];
  const call = { parts: [{ type: "toolCall", id: "c", name: "bash", rawArguments: "{}" }] };

  /**
   * A call and its result. The event of the result lacks the content; the call's end has its
   * beginning.
   */
  function cutRun(content: "worker" | null) {
    const w = new LogWriter();
    const entry = (id: string, role: string, more: object) =>
      w.event("entry.appended", { id, entryType: "message", role, parentId: null, ...more });
    entry("a", "assistant", { content: call });
    entry("r", "tool_result", { toolCallId: "c", content, contentBytes: 300_000 });
    const before = w.log.length;
    const end = { type: "tool_call_end", tool_call: { id: "c", name: "bash" }, result: { text: "beginn" } };
    w.event("data", { toolCallId: "c", data: end });
    const held = new HeldLog();
    for (const e of w.log) held.apply(e);
    return { messages: held.messages, before };
  }
  const entry = (content: unknown) =>
    ({
      id: "r",
      role: "tool_result",
      entryType: "message",
      parentId: null,
      createdAt: "",
      content,
    }) as unknown as Entry;
  const callOf = (view: ReturnType<typeof foldView>) => view.messages[0]?.parts[0];

  test("a result shows its beginning, and what is to be fetched", () => {
    const { messages, before } = cutRun(null);
    const absent = { entryId: "r", bytes: 300_000, onWorker: false };
    expect(callOf(foldView(messages.slice(0, before)))).toMatchObject({
      state: "done",
      result: null,
      absent,
    });
    expect(callOf(foldView(messages))).toMatchObject({ result: { parts: parts("beginn") }, absent });
    expect(callOf(foldView(cutRun("worker").messages))).toMatchObject({ absent: { onWorker: true } });
  });

  test("what was fetched stands in its place, and is not overwritten by its beginning", () => {
    const supplied = new Map([["r", entry({ parts: result("beginning and end") })]]);
    const view = foldView(cutRun(null).messages, { supplied });
    expect(callOf(view)).toMatchObject({ absent: null, result: { parts: parts("beginning and end") } });
    // A reply without content changes nothing.
    const none = foldView(cutRun(null).messages, { supplied: new Map([["r", entry(null)]]) });
    expect(callOf(none)).toMatchObject({ absent: { entryId: "r" }, result: { parts: parts("beginn") } });
  });

  test("a message that was fetched replaces what was heard of it, with its calls and their results", () => {
    const log = tangledRun();
    const told = foldView(heldOf(log));
    const entries = log.flatMap((e) => (e.event === "entry.appended" ? [e.data] : []));
    const without = log.map((e) =>
      e.event === "entry.appended" ? { ...e, data: { ...e.data, content: "worker", contentBytes: 9 } } : e,
    ) as Log;
    const away = foldView(heldOf(without));
    expect(away.messages.some((m) => m.absent)).toBe(true);
    const supplied = new Map(entries.map((e) => [e.id, e as Entry]));
    expect(foldView(heldOf(without), { supplied }).messages).toEqual(told.messages);
  });

  test("small ones are fetched at once, the largest are files", () => {
    expect([1, 1 << 20, (1 << 20) + 1, 8 << 20, (8 << 20) + 1].map(fetching)).toEqual([
      "at once",
      "at once",
      "on demand",
      "on demand",
      "as a file",
    ]);
    expect(sinceIn("the content is on worker w, which is not connected since 2026-11-21T18:25:35.631Z")).toBe(
      "2026-11-21T18:25:35.631Z",
    );
    expect(sinceIn("the content is on worker w, which is not connected")).toBeNull();
  });
});

function heldOf(log: Log) {
  const held = new HeldLog();
  for (const e of log) held.apply(e);
  return held.messages;
}
