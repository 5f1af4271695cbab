import { readFileSync } from "node:fs";
import type { LogEvent } from "../src/events";
import { EventParser } from "../src/sse";
import { byteLength } from "../src/utf8";

/** A log as a server stores it: records in order. The cursor of a record is its position. */
export type Log = LogEvent[];

/** The records of a run of a real agent, with two tools in parallel. */
export function recordedRun(): Log {
  const text = readFileSync(new URL("testdata/run.sse", import.meta.url), "utf8");
  return withPositions(
    new EventParser()
      .push(text)
      .filter((e) => e.event !== "end")
      .map((e) => ({ cursor: e.id, event: e.event, data: JSON.parse(e.data) }) as LogEvent),
  );
}

function withPositions(log: Log): Log {
  return log.map((e, i) => ({ ...e, cursor: String(i + 1) }));
}

/** Writes a log record by record, as a server would. */
export class LogWriter {
  readonly #log: Log = [];
  readonly #bytes = new Map<number, number>();
  #seq = 0;

  get log(): Log {
    return withPositions(this.#log);
  }

  event(event: string, more: object = {}): number {
    const seq = ++this.#seq;
    this.#push(event, { ...common(seq), ...more });
    return seq;
  }

  /** Opens a block with its first chunk. */
  open(event: string, text: string, more: object = {}): number {
    const seq = ++this.#seq;
    this.#bytes.set(seq, byteLength(text));
    this.#push(event, { ...common(seq), ...more, offset: 0, data: text });
    return seq;
  }

  chunk(event: string, seq: number, text: string, more: object = {}): void {
    const offset = this.#bytes.get(seq) ?? 0;
    this.#bytes.set(seq, offset + byteLength(text));
    this.#push(event, { ...common(seq), ...more, offset, data: text });
  }

  close(blockSeq: number, reason = "done", more: object = {}): number {
    return this.event("block.closed", {
      ...more,
      blockSeq,
      length: this.#bytes.get(blockSeq),
      sha256: "",
      reason,
    });
  }

  #push(event: string, data: object): void {
    this.#log.push({ cursor: "", event, data } as LogEvent);
  }
}

function common(seq: number) {
  return { seq, agentExecutionId: "x1", createdAt: `2026-11-21T08:00:00.${String(seq).padStart(3, "0")}Z` };
}

/**
 * A run whose first attempt is superseded, and in which several blocks are open at the same
 * time.
 */
export function tangledRun(): Log {
  const w = new LogWriter();
  const place = { messageId: "m1", turnId: "turn_0", taskExecutionId: "t1" };
  const first = { ...place, attempt: 1 };
  const second = { ...place, attempt: 2 };
  w.event("agent.created", { status: "PENDING" });
  w.event("agent.started", { status: "RUNNING" });
  w.event("task.started", { ...first, kind: "llm-request" });
  w.event("agent.waiting", { status: "WAITING", reason: "task", wait: { task: "t1" } });
  const mused = w.open("thinking", "Perhaps ☂", first);
  w.close(mused, "done", first);
  const lost = w.open("token", "Wrong: ☂", first);
  w.chunk("token", lost, " and 漢", first);
  w.event("data", { ...first, data: { type: "tool_call_start", tool_call: { id: "c9", name: "bash" } } });
  w.close(mused, "superseded", first);
  w.close(lost, "superseded", first);
  w.event("task.retrying", { ...first, kind: "llm-request" });
  w.event("task.started", { ...second, kind: "llm-request" });
  const thought = w.open("thinking", "Hm", second);
  w.chunk("thinking", thought, "m 🤔", second);
  w.close(thought, "done", second);
  const text = w.open("token", "Let's see 🎉", second);
  const terminal = w.open("terminal", "ä1\n", {
    stream: "stdout",
    toolCallId: "c1",
    taskExecutionId: "t2",
    attempt: 1,
  });
  w.chunk("token", text, "é", second);
  w.chunk("terminal", terminal, "ß2\n", {
    stream: "stdout",
    toolCallId: "c1",
    taskExecutionId: "t2",
    attempt: 1,
  });
  w.chunk("token", text, " end", second);
  w.event("signal.received", { signalId: "s1", signalName: "userMessage", signalValue: { text: "go" } });
  w.close(text, "done", second);
  w.event("entry.appended", {
    messageId: "m1",
    id: "m1",
    parentId: null,
    entryType: "message",
    role: "assistant",
    content: { parts: [{ type: "text", text: "Let's see 🎉é end" }] },
  });
  w.close(terminal, "done", { taskExecutionId: "t2", attempt: 1 });
  w.event("entry.appended", {
    id: "u1",
    parentId: "m1",
    entryType: "message",
    role: "user",
    content: { parts: [{ type: "text", text: "go" }] },
  });
  w.event("agent.completed", { status: "COMPLETED" });
  return w.log;
}
