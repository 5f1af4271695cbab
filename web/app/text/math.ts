/** A formula: its TeX, and whether it stands on a line of its own. */
export interface Formula {
  tex: string;
  display: boolean;
}

/** The maximum length of a formula, in characters. */
export const longestInline = 1_000;
export const longestDisplay = 8_000;
/** The maximum number of lines of a formula that begins a line. */
const mostLines = 200;

/** Returns the formula of a source with its delimiters. */
export function formulaOf(source: string): Formula {
  const two = source.startsWith("$$") || source.startsWith("\\");
  const display = source.startsWith("$$") || source.startsWith("\\[");
  const width = two ? 2 : 1;
  const end = /(?:\$\$?|\\[\])])([.,;:]?)\s*$/.exec(source);
  const inner = source.slice(width, end ? end.index : source.length);
  // Punctuation after a formula on its own lines belongs to the sentence, and is shown with it.
  return { tex: `${inner.trim()}${display ? (end?.[1] ?? "") : ""}`, display };
}

/** An amount of money before a word, as in "$20 for one and 30$". */
const price = /^\d[\d.,]*\s+[A-Za-z]{2}/;

/** Reports whether the text between two single dollars can be a formula. */
export const formulaLike = (inner: string) => !price.test(inner);

/**
 * Reports whether the text between `\[` and `\]` can be a formula. Markdown also escapes the
 * brackets of plain words like this.
 */
export function displayLike(inner: string): boolean {
  const text = inner.trim();
  return /[\\^_=<>+*/|\d]/.test(text) || /^[A-Za-z]$/.test(text);
}

const fence = /^ {0,3}(?:`{3}|~{3})/;
const prefix = /^[\s>]*/;

/**
 * Returns the number of the line that closes the formula that the line `from` opens, or -1. A
 * formula contains no blank line and no code fence, so that it never spans two blocks. Lines count
 * from 0.
 */
export function closingLine(lines: readonly string[], from: number, close: "$$" | "\\]"): number {
  let length = 0;
  for (let i = from + 1; i < lines.length && i - from <= mostLines; i++) {
    const line = (lines[i] ?? "").replace(prefix, "").trimEnd();
    length += line.length + 1;
    if (line === "" || fence.test(line) || length > longestDisplay) return -1;
    const at = line.indexOf(close);
    if (at >= 0) return /^[.,;:]?$/.test(line.slice(at + 2)) ? i : -1;
  }
  return -1;
}
