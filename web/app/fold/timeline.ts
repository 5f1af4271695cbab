import type { LogEvent, Message, Task, Wait } from "../../client/src/index";
import { hasWords, wordsIn } from "../text/words";
import { type Declared, isUndeclared, undeclaredText } from "./signal";
import { type Names, waitLine } from "./wait";

export type ItemKind = "task" | "step" | "wait" | "signal" | "question";
export type Outcome = "open" | "done" | "failed" | "stopped";

/** A task without large content. */
export type TaskLine = Omit<Task, "input" | "result"> & {
  input: unknown;
  result: unknown;
  /** The content was left out because it is large. */
  large: boolean;
  /** What the search looks at, in lower case. */
  text: string;
};

/** What happened in a run, from its begin to its end. */
export interface Item {
  id: string;
  kind: ItemKind;
  label: string;
  /** Milliseconds since the epoch. The end is null while it is open. */
  start: number;
  end: number | null;
  outcome: Outcome;
  /** The outcome in a word or two. */
  status: string;
  /** What the search looks at, in lower case. */
  text: string;
  task?: TaskLine;
  wait?: Wait;
  /** `undeclared` says that the kind does not declare the signal. */
  signal?: { id: string; value: unknown; undeclared: string | null };
  question?: string;
}

const ended: Record<string, [Outcome, string]> = {
  COMPLETED: ["done", "completed"],
  FAILED: ["failed", "failed"],
  INTERRUPTED: ["failed", "interrupted"],
  CANCELLED: ["stopped", "cancelled"],
};

/** Returns the word for the status of a task or step. */
export function taskWord(status: Task["status"]): string {
  return ended[status]?.[1] ?? (status === "RUNNING" ? "runs" : "waits for a worker");
}

/** Content that is kept with a task, in characters of JSON. Other content is read when it is opened. */
const most = 2_000;

/** Returns the kind of a task or the name of a step, with the instance that tells it from others. */
export const taskName = ({ kind, instance }: Pick<Task, "kind" | "instance">) =>
  instance ? `${kind} · ${instance}` : kind;

/** Returns a task with the content that is small. */
export function taskLine(t: Task): TaskLine {
  const json = (v: unknown) => (v === null || v === undefined ? "" : JSON.stringify(v));
  const given = [json(t.input), json(t.result)];
  const large = given.some((s) => s.length > most);
  const words = [
    t.kind,
    t.instance,
    t.id,
    t.status,
    t.error?.code,
    t.error?.message,
    ...given.map((s) => s.slice(0, most)),
  ];
  return {
    ...t,
    input: large ? null : t.input,
    result: large ? null : t.result,
    large,
    text: words.join(" ").toLowerCase(),
  };
}

function itemOfTask(t: TaskLine, over: number | null): Item {
  const open: [Outcome, string] = over === null ? ["open", taskWord(t.status)] : ["stopped", "not ended"];
  const [outcome, status] = ended[t.status] ?? open;
  const start = Date.parse(t.startedAt ?? t.createdAt);
  const end = t.completedAt ? Date.parse(t.completedAt) : ended[t.status] ? start : over;
  const { id, text } = t;
  const label = taskName(t);
  return { id, kind: t.step ? "step" : "task", label, start, end, outcome, status, text, task: t };
}

/**
 * Returns the items of a run, by their begin: its tasks and steps, and the waits, signals and
 * questions of the log. Waits for tasks and questions are left out, because these are items.
 * `names` are the kinds of tasks by their ids, `declared` the signals of the run's kind.
 */
export function timelineOf(
  tasks: readonly TaskLine[],
  messages: readonly Message[],
  names: Names = new Map(),
  declared: Declared = { kind: "", names: [] },
): Item[] {
  const log = new LogItems(names, declared);
  for (const m of messages) if (m.kind === "event") log.take(m.event, Date.parse(m.createdAt));
  const items = [...tasks.map((t) => itemOfTask(t, log.over)), ...log.items];
  return items.sort((a, b) => a.start - b.start);
}

class LogItems {
  readonly items: Item[] = [];
  /** The end of the run. */
  over: number | null = null;
  readonly #names: Names;
  readonly #declared: Declared;
  readonly #questions = new Map<string, Item>();
  #wait: Item | null = null;

  constructor(names: Names, declared: Declared) {
    this.#names = names;
    this.#declared = declared;
  }

  take(e: LogEvent, at: number): void {
    switch (e.event) {
      case "agent.waiting":
        this.#waits(e.data.wait, e.data.reason, e.data.seq, at);
        break;
      case "agent.resumed":
        this.#closeWait(at, "done", typeof e.data.woke === "string" ? `woken by ${e.data.woke}` : "over");
        break;
      case "agent.cancelling":
      case "agent.completed":
      case "agent.failed":
      case "agent.cancelled":
        this.#closeWait(at, "stopped", "over");
        if (e.event !== "agent.cancelling") this.#ends(at);
        break;
      case "signal.received":
        this.#signal(e.data, at);
        break;
      case "question.asked":
      case "question.answered":
      case "question.expired":
      case "question.withdrawn":
      case "question.closed":
        this.#question(e.data, at);
    }
  }

  #waits(wait: Wait, reason: string, seq: number, at: number): void {
    this.#closeWait(at, "done", "over");
    if (reason === "task" || reason === "question") return;
    const label = waitLine(wait, this.#names);
    const text = `wait ${label}`.toLowerCase();
    this.#wait = {
      id: `wait ${seq}`,
      kind: "wait",
      label,
      start: at,
      end: null,
      outcome: "open",
      status: "waits",
      text,
      wait,
    };
    this.items.push(this.#wait);
  }

  #closeWait(at: number, outcome: Outcome, status: string): void {
    if (this.#wait) Object.assign(this.#wait, { end: at, outcome, status });
    this.#wait = null;
  }

  #signal(d: { signalId: string; signalName: string; signalValue?: unknown }, at: number): void {
    const value = d.signalValue;
    const text =
      `signal ${d.signalName} ${d.signalId} ${JSON.stringify(value ?? "").slice(0, most)}`.toLowerCase();
    const undeclared = isUndeclared(d.signalName, this.#declared)
      ? undeclaredText(d.signalName, this.#declared)
      : null;
    const signal = { id: d.signalId, value, undeclared };
    this.items.push({
      id: `signal ${d.signalId}`,
      kind: "signal",
      label: d.signalName,
      start: at,
      end: at,
      outcome: undeclared ? "failed" : "done",
      status: undeclared ? "not declared" : "received",
      text,
      signal,
    });
  }

  #question(
    d: { questionId: string; kind: string; status: string; subject?: unknown; prompt?: unknown },
    at: number,
  ): void {
    let item = this.#questions.get(d.questionId);
    if (!item) {
      const label = String(d.subject || d.prompt || d.kind);
      const text = `question ${label} ${String(d.prompt ?? "")}`.toLowerCase();
      item = {
        id: `question ${d.questionId}`,
        kind: "question",
        label,
        start: at,
        end: null,
        outcome: "open",
        status: "open",
        text,
        question: d.questionId,
      };
      this.#questions.set(d.questionId, item);
      this.items.push(item);
    }
    if (d.status === "open") return;
    Object.assign(item, { end: at, outcome: d.status === "answered" ? "done" : "stopped", status: d.status });
  }

  #ends(at: number): void {
    this.over = at;
    for (const q of this.#questions.values())
      if (q.end === null) Object.assign(q, { end: at, outcome: "stopped", status: "over" });
  }
}

/** Returns the items with every word of the search. */
export function matching(items: readonly Item[], wanted: string): readonly Item[] {
  const words = wordsIn(wanted);
  return words.length === 0 ? items : items.filter((i) => hasWords(`${i.kind} ${i.status} ${i.text}`, words));
}
