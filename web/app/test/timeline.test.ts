import { describe, expect, it } from "vitest";
import type { List, Message, Task, Wait } from "../../client/src/index";
import { shownStatus } from "../fold/status";
import { TaskPages } from "../fold/tasks";
import { matching, taskLine, timelineOf } from "../fold/timeline";
import { signalsOf, waitLine, waitWords } from "../fold/wait";

const wait: Wait = {
  any: [
    { all: [{ task: "t1" }, { signal: "a", met: true }, { signal: "b" }] },
    { signal: "c.*" },
    { timer: "2030-01-01T00:00:00Z" },
  ],
};

describe("a wait in words", () => {
  it("names its tasks, and keeps its groups", () => {
    expect(waitLine(wait, new Map([["t1", "reserve"]]))).toBe(
      "one of all of the task reserve, the signal a, the signal b, a signal like c.*, a timer",
    );
    expect(waitWords(wait).parts.map((p) => [p.text, p.met, p.until])).toEqual([
      ["all of", false, null],
      ["a signal like c.*", false, null],
      ["a timer", false, "2030-01-01T00:00:00Z"],
    ]);
    expect(waitLine({ all: [{ question: "q" }] })).toBe("an answer to a question");
    expect(waitLine({})).toContain("does not know");
  });

  it("offers the signals that can still meet it", () => {
    expect(signalsOf(wait)).toEqual(["b", "c.*"]);
    expect(signalsOf(null)).toEqual([]);
  });
});

describe("the words for a status", () => {
  const of = (kind: string, w: Wait) => ({ status: "WAITING", waitReason: "signal", wait: w, kind }) as const;

  it("speaks of turns only in conversations", () => {
    expect(shownStatus(of("react-agent", { signal: "userMessage" })).label).toBe("Your turn");
    expect(shownStatus(of("order", { signal: "shipped" })).label).toBe("Waits for shipped");
    expect(shownStatus(of("order", wait)).label).toBe("Waits for a signal");
  });

  it("tells a failed turn by the signal that repeats it", () => {
    const failed = { any: [{ signal: "userMessage" }, { signal: "retry" }] };
    expect(shownStatus(of("react-agent", failed))).toEqual({
      label: "Failed turn",
      tone: "bad",
      busy: false,
    });
    expect(shownStatus(of("order", { signal: "retry" })).label).toBe("Waits for retry");
  });
});

const task = (n: number, status: Task["status"] = "COMPLETED", result: unknown = n): Task =>
  ({
    id: `task ${n}`,
    kind: "count",
    status,
    createdAt: new Date(n * 1000).toISOString(),
    startedAt: status === "PENDING" ? null : new Date(n * 1000).toISOString(),
    completedAt: status === "COMPLETED" ? new Date(n * 1000 + 500).toISOString() : null,
    attempt: 1,
    error: null,
    input: { n },
    result,
  }) as unknown as Task;

function event(event: string, seq: number, data: Record<string, unknown>): Message {
  const createdAt = new Date(seq * 1000).toISOString();
  return {
    kind: "event",
    seq,
    createdAt,
    event: { event, data: { seq, createdAt, ...data } },
  } as unknown as Message;
}

describe("a timeline", () => {
  const log = [
    event("agent.waiting", 1, { reason: "task", wait: { task: "task 1" } }),
    event("agent.resumed", 2, { woke: "task" }),
    event("agent.waiting", 3, { reason: "signal", wait: { signal: "go" } }),
    event("signal.received", 4, { signalId: "s", signalName: "go", signalValue: { far: true } }),
    event("agent.resumed", 5, { woke: "signal" }),
    event("question.asked", 6, { questionId: "q", kind: "approval", status: "open", prompt: "May I?" }),
    event("question.answered", 8, { questionId: "q", kind: "approval", status: "answered" }),
    event("question.asked", 9, { questionId: "r", kind: "approval", status: "open", subject: "bash" }),
  ];
  const lines = [taskLine(task(2)), taskLine(task(7, "RUNNING", null))];

  it("names instances of steps and tasks, and finds them", () => {
    const of = [{ ...task(1), kind: "label", instance: "north", step: true }, task(2)].map(taskLine);
    const items = timelineOf(of, []);
    expect(items.map((i) => [i.kind, i.label])).toEqual([
      ["step", "label · north"],
      ["task", "count"],
    ]);
    expect(matching(items, "NORTH label").map((i) => i.id)).toEqual(["task 1"]);
  });

  it("says which signal its kind does not declare", () => {
    const of = (names: string[]) =>
      timelineOf([], log, new Map(), { kind: "trip", names }).filter((i) => i.kind === "signal");
    expect(of(["went", "goo"]).map((i) => [i.status, i.outcome, i.signal?.undeclared])).toEqual([
      ["not declared", "failed", "The kind trip does not declare a signal go. Did you mean goo?"],
    ]);
    for (const names of [["go"], []])
      expect(of(names).map((i) => [i.status, i.signal?.undeclared])).toEqual([["received", null]]);
  });

  it("has tasks, waits, signals and questions by their begin, with outcome and end", () => {
    const items = timelineOf(lines, log).map((i) => [i.kind, i.label, i.outcome, i.start, i.end]);
    expect(items).toEqual([
      ["task", "count", "done", 2000, 2500],
      ["wait", "the signal go", "done", 3000, 5000],
      ["signal", "go", "done", 4000, 4000],
      ["question", "May I?", "done", 6000, 8000],
      ["task", "count", "open", 7000, null],
      ["question", "bash", "open", 9000, null],
    ]);
  });

  it("leaves nothing open after the end", () => {
    const over = timelineOf(lines, [...log, event("agent.cancelled", 10, { status: "CANCELLED" })]);
    expect(over.filter((i) => i.end === null || i.outcome === "open")).toEqual([]);
  });

  it("is searched by all words, in kinds, outcomes and content", () => {
    const items = timelineOf(lines, log);
    expect(matching(items, "  ").length).toBe(items.length);
    expect(matching(items, "task COMPLETED").map((i) => i.start)).toEqual([2000]);
    expect(matching(items, "far").map((i) => i.kind)).toEqual(["signal"]);
    expect(matching(items, "far task")).toEqual([]);
  });
});

describe("the tasks of a run", () => {
  it("are read page by page, and only what can change is read again", async () => {
    const all = Array.from({ length: 1200 }, (_, i) => task(i, i === 1100 ? "RUNNING" : "COMPLETED"));
    const asked: string[] = [];
    const read = async (cursor: string | undefined, limit: number): Promise<List<Task>> => {
      asked.push(cursor ?? "first");
      const from = Number(cursor ?? 0);
      const next = from + limit < all.length ? String(from + limit) : null;
      return { items: all.slice(from, from + limit), nextCursor: next };
    };
    const pages = new TaskPages(read, 0);
    const seen = (n: number) =>
      new Promise<void>((resolve) => {
        const look = () => pages.state.tasks.length >= n && resolve();
        pages.subscribe(look);
        look();
      });
    pages.refresh();
    await seen(1200);
    expect(asked).toEqual(["first", "500", "1000"]);
    all.push(task(1200));
    pages.refresh();
    await seen(1201);
    expect(asked).toEqual(["first", "500", "1000", "1000"]);
    expect(pages.state).toMatchObject({ pending: false, more: false, error: null });
  });

  it("are kept without large content, which is read when it is wanted", async () => {
    const large = { ...task(1), result: "x".repeat(10_000) };
    const pages = new TaskPages(async () => ({ items: [large], nextCursor: null }), 0);
    pages.refresh();
    await new Promise<void>((resolve) => pages.subscribe(resolve));
    expect(pages.state.tasks[0]).toMatchObject({ large: true, result: null });
    expect((await pages.whole("task 1")).result).toBe(large.result);
    await expect(pages.whole("task 2")).rejects.toThrow("not there");
  });
});
