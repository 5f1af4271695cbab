import type { Part, PartView, ToolCallView } from "../../client/src/index";
import { partsOfPrompt } from "../../client/src/index";
import type { Row } from "./rows";

const texts = new WeakMap<Row, string>();

/** A match: the row, and the number of the match in the row, from 0. */
export interface Match {
  id: string;
  n: number;
}

/** The matches of a search, counted by row, oldest first. */
export interface Found {
  total: number;
  /** `before` is the number of matches in earlier rows. */
  rows: readonly { id: string; before: number; count: number }[];
}

/** Returns how often the rows contain what is wanted, in any case. */
export function found(rows: readonly Row[], wanted: string): Found {
  const text = wanted.trim().toLowerCase();
  const all: { id: string; before: number; count: number }[] = [];
  let total = 0;
  if (text === "") return { total, rows: all };
  for (const row of rows) {
    const count = countIn(row, text);
    if (count > 0) all.push({ id: row.id, before: total, count });
    total += count;
  }
  return { total, rows: all };
}

/** Returns the match with a number, from 0, or null if there are fewer. */
export function matchAt({ rows }: Found, at: number): Match | null {
  const row = rows.findLast((r) => r.before <= at);
  return row && at - row.before < row.count ? { id: row.id, n: at - row.before } : null;
}

/** Returns the number of a match, from 0, or -1 if it is gone. */
export function numberOf({ rows }: Found, { id, n }: Match): number {
  const row = rows.find((r) => r.id === id);
  return row && n < row.count ? row.before + n : -1;
}

const counts = new WeakMap<Row, { text: string; count: number }>();

/** Returns how often a row contains a text. The same row is not searched twice for the same text. */
function countIn(row: Row, text: string): number {
  const held = counts.get(row);
  if (held?.text === text) return held.count;
  const all = textOf(row);
  let count = 0;
  for (let at = all.indexOf(text); at >= 0; at = all.indexOf(text, at + text.length)) count++;
  counts.set(row, { text, count });
  return count;
}

/** Returns all text of a row, in lower case. The same row returns the same text without a search. */
function textOf(row: Row): string {
  let text = texts.get(row);
  if (text === undefined) {
    text = wordsOf(row).join("\n").toLowerCase();
    texts.set(row, text);
  }
  return text;
}

function wordsOf(row: Row): string[] {
  switch (row.kind) {
    case "message":
      return row.of.parts.flatMap(wordsOfView);
    case "compaction":
      return [row.of.summary];
    case "queued":
      return row.of.parts.map(wordsOfPart);
    case "sent":
      return partsOfPrompt(row.of).map(wordsOfPart);
  }
}

function wordsOfView(p: PartView): string[] {
  if (p.type === "image") return [];
  return p.type === "toolCall" ? wordsOfCall(p) : [p.text];
}

/** Returns what the card of a call shows: the result takes the place of the output. */
function wordsOfCall(p: ToolCallView): string[] {
  const output = p.result ? p.result.parts.map(wordsOfPart) : [p.terminal.map((t) => t.text).join("")];
  return [p.name, plainArgument(p) ?? p.rawArguments, ...output];
}

/** Returns the argument of a call that is shown as it is, or null if all are shown as JSON. */
export function plainArgument(p: Pick<ToolCallView, "name" | "arguments">): string | null {
  const args = (p.arguments ?? {}) as Record<string, unknown>;
  const text = p.name === "bash" ? args.command : p.name === "write-file" ? args.content : null;
  return typeof text === "string" ? text : null;
}

const wordsOfPart = (p: Part): string => (p.type === "text" ? p.text : "");
