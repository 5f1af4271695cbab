import type { ExecutionView, MessageView, Prompt, QueuedMessage } from "../../client/src/index";

/**
 * One row of a conversation: a message of the log, a message that the run has received and not
 * taken yet, or a prompt that this page is sending.
 */
export type Row =
  | { id: string; kind: "message"; of: MessageView }
  | { id: string; kind: "queued"; of: QueuedMessage }
  | { id: string; kind: "sent"; of: Prompt };

const made = new WeakMap<object, Row>();

/** Returns the same row for the same object, so that unchanged rows are not drawn again. */
function once<T extends object>(of: T, make: (of: T) => Row): Row {
  let row = made.get(of);
  if (!row) {
    row = make(of);
    made.set(of, row);
  }
  return row;
}

/** Returns the rows of a conversation, oldest first. Prompts sent from here come last, and once. */
export function rowsOf(view: ExecutionView, prompts: readonly Prompt[]): Row[] {
  const rows: Row[] = [];
  for (const m of view.messages) {
    if (m.role !== "user" && m.role !== "assistant") continue;
    rows.push(once(m, (of) => ({ id: of.id, kind: "message", of })));
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
