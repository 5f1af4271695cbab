import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { LogEvent } from "../src/events";
import { foldView, ViewFold } from "../src/fold";
import { HeldLog } from "../src/held";
import {
  compactionLine,
  type ExecutionView,
  type MessageView,
  type PartView,
  type ToolCallView,
} from "../src/view";

/** Recorded logs and their trees. The Go package internal/log/fold is held against the same files. */
const recorded = new URL("../../../internal/log/fold/testdata/", import.meta.url);

const names = readdirSync(recorded)
  .filter((name) => name.endsWith(".jsonl"))
  .map((name) => name.slice(0, -".jsonl".length));

const read = (name: string) => readFileSync(new URL(name, recorded), "utf8");

function partOf(p: PartView) {
  if (p.type === "toolCall") return { type: p.type, call: callOf(p) };
  return { type: p.type, ...("text" in p && p.text !== "" ? { text: p.text } : {}) };
}

function callOf(c: ToolCallView) {
  return {
    id: c.id,
    name: c.name,
    arguments: c.rawArguments,
    outputs: c.terminal.map(({ stream, text }) => ({ stream, text })),
    result: c.result && {
      isError: c.result.isError,
      text: c.result.parts.map((p) => (p.type === "text" ? p.text : "")).join(""),
    },
  };
}

/** Groups values by a key, in the order in which the keys came first. */
function grouped<T>(values: readonly T[], keyOf: (v: T) => string): [string, T[]][] {
  const groups = new Map<string, T[]>();
  for (const v of values) {
    const key = keyOf(v);
    groups.set(key, [...(groups.get(key) ?? []), v]);
  }
  return [...groups];
}

function treeOf(view: ExecutionView, held: HeldLog) {
  const messageOf = (m: MessageView) => ({
    id: m.id,
    role: m.role,
    stored: m.stored,
    parts: m.parts.map(partOf),
  });
  return {
    responses: grouped(view.messages, (m) => m.responseId ?? "").map(([id, messages]) => ({
      id,
      turns: grouped(messages, (m) => m.turnId ?? "").map(([id, of]) => ({
        id,
        messages: of.map(messageOf),
      })),
    })),
    ...(view.compactions.length > 0
      ? {
          compactions: view.compactions.map((c) => ({
            id: c.id,
            after: c.after ?? "",
            line: compactionLine(c),
            summary: c.summary,
          })),
        }
      : {}),
    withdrawn: held.messages.filter((m) => m.kind === "block" && m.state === "superseded").map((m) => m.seq),
  };
}

test("there are recorded logs", () => expect(names.length).toBeGreaterThanOrEqual(6));

describe.each(names)("%s", (name) => {
  const log = read(`${name}.jsonl`)
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as LogEvent);
  const trees = Object.entries(JSON.parse(read(`${name}.trees.json`)) as Record<string, unknown>);

  test.each(trees)("the first %s events have their tree", (n, tree) => {
    const held = new HeldLog();
    for (const e of log.slice(0, Number(n))) expect(held.apply(e)).toBe("taken");
    expect(treeOf(foldView(held.messages), held)).toEqual(tree);
  });

  test("folded event by event, the log has the tree of the whole", () => {
    const held = new HeldLog();
    let fold = new ViewFold();
    for (const e of log) {
      held.apply(e);
      const changes = held.takeChanges();
      if (!changes?.every((m) => fold.take(m))) {
        fold = new ViewFold();
        for (const m of held.messages) fold.take(m);
      }
    }
    expect(treeOf(fold.view(), held)).toEqual(trees.find(([n]) => Number(n) === log.length)?.[1]);
  });
});
