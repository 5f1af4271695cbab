import type {
  CompactionView,
  ExecutionView,
  MessageView,
  Prompt,
  QueuedMessage,
} from "../../client/src/index";

/**
 * One row of a conversation: a message of the log, a compaction between two messages, a message that
 * the run has received and not taken yet, or a prompt that this page is sending.
 */
export type Row =
  | { id: string; kind: "message"; of: MessageView; unseen: boolean }
  | { id: string; kind: "compaction"; of: CompactionView }
  | { id: string; kind: "queued"; of: QueuedMessage }
  | { id: string; kind: "sent"; of: Prompt };

type Rows = WeakMap<object, Row>;
const made: Rows = new WeakMap();
const madeUnseen: Rows = new WeakMap();

/** Returns the same row for the same object, so that unchanged rows are not drawn again. */
function once<T extends object>(of: T, make: (of: T) => Row, rows = made): Row {
  let row = rows.get(of);
  if (!row) {
    row = make(of);
    rows.set(of, row);
  }
  return row;
}

/** Returns the ids of the loaded messages that the newest compaction hides from the model. */
export function unseenOf(view: ExecutionView): Set<string> {
  const newest = view.compactions.at(-1);
  if (!newest?.record) return new Set();
  const { keepFrom, pinned } = newest.record;
  const seen = new Set(pinned);
  const ids = view.messages.map((m) => m.id);
  // If keepFrom is not among the loaded messages, all covered messages are before them.
  const end = keepFrom === null ? ids.lastIndexOf(newest.after ?? "") + 1 : ids.indexOf(keepFrom);
  return new Set(ids.slice(0, Math.max(end, 0)).filter((id) => !seen.has(id)));
}

/** Returns the rows of a conversation, oldest first. Prompts sent from here come last, and once. */
export function rowsOf(view: ExecutionView, prompts: readonly Prompt[]): Row[] {
  const rows: Row[] = [];
  const unseen = unseenOf(view);
  const compactions = new Map<string | null, CompactionView[]>();
  for (const c of view.compactions) compactions.set(c.after, [...(compactions.get(c.after) ?? []), c]);
  const divide = (after: string | null) => {
    for (const c of compactions.get(after) ?? [])
      rows.push(once(c, (of) => ({ id: of.id, kind: "compaction", of })));
  };
  divide(null);
  for (const m of view.messages) {
    if (m.role === "user" || m.role === "assistant") {
      const hidden = unseen.has(m.id);
      const make = (of: MessageView): Row => ({ id: of.id, kind: "message", of, unseen: hidden });
      rows.push(once(m, make, hidden ? madeUnseen : made));
    }
    divide(m.id);
  }
  const queued = new Set<string>();
  for (const q of view.queued) {
    queued.add(q.signalId);
    rows.push(once(q, (of) => ({ id: of.signalId, kind: "queued", of })));
  }
  for (const p of prompts) {
    if (!queued.has(p.id)) rows.push(once(p, (of) => ({ id: of.id, kind: "sent", of })));
  }
  return rows;
}
