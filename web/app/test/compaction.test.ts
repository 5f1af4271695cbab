import { expect, test } from "vitest";
import { compactionLine, foldView, HeldLog } from "../../client/src/index";
import { LogWriter } from "../../client/test/log";
import { rowsOf } from "../fold/rows";
import { threadMessageOf } from "../fold/thread";

const entry = (w: LogWriter, id: string, role: string, more: object = {}) =>
  w.event("entry.appended", {
    id,
    entryType: "message",
    role,
    content: { parts: [{ type: "text", text: id }] },
    ...more,
  });

const compaction = (w: LogWriter, id: string, record: object) =>
  entry(w, id, "user", {
    entryType: "compaction",
    content: { parts: [{ type: "compaction", text: `summary of ${id}` }] },
    metadata: {
      pinned: [],
      reason: "automatic",
      messages: 48,
      tokensBefore: 112_000,
      tokensAfter: 4_000,
      ...record,
    },
  });

function viewOf(w: LogWriter) {
  const held = new HeldLog();
  for (const e of w.log) held.apply(e);
  return foldView(held.messages);
}

const rows = (w: LogWriter) =>
  rowsOf(viewOf(w), []).map((r) => (r.kind === "message" ? `${r.id}${r.unseen ? " unseen" : ""}` : r.kind));

function conversation(): LogWriter {
  const w = new LogWriter();
  w.event("agent.started", { status: "RUNNING" });
  for (const n of [1, 2]) {
    entry(w, `q${n}`, "user");
    entry(w, `a${n}`, "assistant");
  }
  return w;
}

test("a compaction is a divider between messages, and what it covers is marked", () => {
  const w = conversation();
  expect(rows(w)).toEqual(["q1", "a1", "q2", "a2"]);
  compaction(w, "c1", { last: "a1", keepFrom: "q2", pinned: ["q1"] });
  entry(w, "q3", "user");
  expect(rows(w)).toEqual(["q1", "a1 unseen", "q2", "a2", "compaction", "q3"]);
  compaction(w, "c2", { last: "q3", keepFrom: null });
  expect(rows(w)).toEqual([
    "q1 unseen",
    "a1 unseen",
    "q2 unseen",
    "a2 unseen",
    "compaction",
    "q3 unseen",
    "compaction",
  ]);
});

test("covered messages that are not loaded mark no others", () => {
  const w = new LogWriter();
  w.event("agent.started", { status: "RUNNING" });
  compaction(w, "c1", { last: "gone", keepFrom: "gone too" });
  entry(w, "q3", "user");
  expect(rows(w)).toEqual(["compaction", "q3"]);
});

test("the divider has its line and its summary", () => {
  const w = conversation();
  compaction(w, "c1", { last: "a2", keepFrom: null });
  const view = viewOf(w);
  const [c] = view.compactions;
  expect(c && compactionLine(c)).toBe("48 messages summarized, 112 k → 4.0 k tokens");
  expect(c?.summary).toBe("summary of c1");
  expect(view.messages.map((m) => m.id)).not.toContain("c1");
  const row = rowsOf(view, []).find((r) => r.kind === "compaction");
  expect(row && threadMessageOf(row).content).toMatchObject([{ type: "text", text: "summary of c1" }]);
});

test("a row is the same object until a compaction covers its message", () => {
  const w = conversation();
  const before = rowsOf(viewOf(w), []);
  const view = viewOf(w);
  expect(rowsOf(view, [])[0]).toBe(rowsOf(view, [])[0]);
  compaction(w, "c1", { last: "a1", keepFrom: "q2" });
  const after = viewOf(w);
  expect(rowsOf(after, [])[0]).toBe(rowsOf(after, [])[0]);
  expect(before).toHaveLength(4);
});

test("while a summary is being made, the view says so, and a message can be sent", () => {
  const w = conversation();
  w.event("data", { data: { type: "compaction", state: "started" } });
  expect(viewOf(w)).toMatchObject({ compacting: true, inputEnabled: true, others: [] });
  w.event("data", { data: { type: "compaction", state: "failed", error: "no answer" } });
  expect(viewOf(w).compacting).toBe(false);
});
