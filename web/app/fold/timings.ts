import type { Message } from "../../client/src/index";

/** A time span in which a run worked on something. */
export interface Span {
  id: string;
  kind: "turn" | "model" | "tool";
  label: string;
  turnId: string;
  /** Milliseconds since the epoch. The end is null while the span is open. */
  start: number;
  end: number | null;
  attempt: number;
  outcome: "running" | "done" | "failed";
}

const modelKind = "llm-request";
const outcomes: Record<string, Span["outcome"]> = {
  "task.completed": "done",
  "task.failed": "failed",
  "task.interrupted": "failed",
  "task.cancelled": "failed",
  "task.retrying": "failed",
};

/**
 * Returns the turns in the held part of a log, each with its model calls and tools, in the order of
 * their starts.
 */
export function spansOf(messages: readonly Message[]): Span[] {
  const turns = new Map<string, { turn: Span; inner: Span[] }>();
  const open = new Map<string, Span>(); // by task and attempt
  for (const m of messages) {
    if (m.kind !== "event") continue;
    const e = m.event;
    if (e.event === "task.started") {
      const { taskExecutionId: task = "", attempt = 1, turnId = "", kind = "", createdAt } = e.data;
      const start = Date.parse(createdAt);
      const span: Span = {
        id: `${task} ${attempt}`,
        kind: kind === modelKind ? "model" : "tool",
        label: kind === modelKind ? "model" : kind,
        turnId,
        start,
        end: null,
        attempt,
        outcome: "running",
      };
      open.set(span.id, span);
      const of = turns.get(turnId) ?? { turn: turnOf(turnId, start, turns.size + 1), inner: [] };
      of.inner.push(span);
      turns.set(turnId, of);
    } else if (outcomes[e.event]) {
      const d = e.data as { taskExecutionId?: string; attempt?: number; createdAt: string };
      const span = open.get(`${d.taskExecutionId ?? ""} ${d.attempt ?? 1}`);
      if (!span) continue;
      span.end = Date.parse(d.createdAt);
      span.outcome = outcomes[e.event] ?? "done";
    } else if (e.event === "agent.completed" || e.event === "agent.failed" || e.event === "agent.cancelled") {
      closeAll(open, Date.parse(m.createdAt));
    }
  }
  return [...turns.values()].flatMap(({ turn, inner }) => [bounded(turn, inner), ...inner]);
}

function turnOf(turnId: string, start: number, n: number): Span {
  const label = `Turn ${/^turn_(\d+)$/.test(turnId) ? Number(turnId.slice(5)) + 1 : n}`;
  return { id: `turn ${turnId}`, kind: "turn", label, turnId, start, end: null, attempt: 1, outcome: "done" };
}

/** Closes all open spans, because nothing runs after the end. */
function closeAll(open: Map<string, Span>, at: number): void {
  for (const span of open.values()) {
    if (span.outcome !== "running") continue;
    span.end = at;
    span.outcome = "failed";
  }
}

function bounded(turn: Span, inner: Span[]): Span {
  const running = inner.some((s) => s.end === null);
  const end = running ? null : Math.max(...inner.map((s) => s.end ?? 0));
  return { ...turn, end, outcome: running ? "running" : "done" };
}
