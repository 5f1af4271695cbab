/** The maximum length of code with colours, in characters. */
export const longestColoured = 64 << 10;

/** Returns the language of a code block from the class that markdown gives it. */
export function languageOf(className: unknown): string {
  const names = Array.isArray(className) ? className : String(className ?? "").split(" ");
  for (const n of names) {
    if (typeof n === "string" && n.startsWith("language-")) return n.slice("language-".length).toLowerCase();
  }
  return "";
}

/** Reports whether the source of a fenced code block has its last line, which closes it. */
export function isClosed(source: string): boolean {
  const lines = source.split("\n");
  const open = /^(`{3,}|~{3,})/.exec(lines[0] ?? "")?.[1];
  const close = /^[ \t>]*(`{3,}|~{3,})[ \t]*$/.exec(lines.at(-1) ?? "")?.[1];
  if (lines.length < 2 || !open || !close) return false;
  return close[0] === open[0] && close.length >= open.length;
}
