import type { Part, PartView } from "../../client/src/index";
import { partsOfPrompt } from "../../client/src/index";
import type { Row } from "./rows";

const texts = new WeakMap<Row, string>();

/** Returns the ids of the rows whose text contains what is wanted, in any case, oldest first. */
export function found(rows: readonly Row[], wanted: string): string[] {
  const text = wanted.trim().toLowerCase();
  if (text === "") return [];
  return rows.filter((r) => textOf(r).includes(text)).map((r) => r.id);
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
  if (p.type !== "toolCall") return [p.text];
  return [
    p.name,
    p.rawArguments,
    ...p.terminal.map((t) => t.text),
    ...(p.result?.parts ?? []).map(wordsOfPart),
  ];
}

const wordsOfPart = (p: Part): string => (p.type === "text" ? p.text : "");
