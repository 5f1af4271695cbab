export interface DiffLine {
  kind: "add" | "remove" | "same" | "hunk" | "note";
  text: string;
  before: number | null;
  after: number | null;
}

export interface Diff {
  /** The text before the diff in a tool's result. */
  lead: string;
  lines: DiffLine[];
  added: number;
  removed: number;
}

const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** Returns the unified diff in a tool's result; null if there is none. */
export function diffIn(text: string): Diff | null {
  const all = text.replace(/\n$/, "").split("\n");
  const first = all.findIndex((l) => hunk.test(l));
  if (first < 0) return null;
  const diff: Diff = { lead: "", lines: [], added: 0, removed: 0 };
  diff.lead = all
    .slice(0, first)
    .filter((l) => !/^(---|\+\+\+) /.test(l))
    .join("\n")
    .trim();
  let before = 0;
  let after = 0;
  for (const line of all.slice(first)) {
    const at = hunk.exec(line);
    if (at) {
      before = Number(at[1]);
      after = Number(at[2]);
      diff.lines.push({ kind: "hunk", text: line, before: null, after: null });
    } else if (line.startsWith("+")) {
      diff.added++;
      diff.lines.push({ kind: "add", text: line.slice(1), before: null, after: after++ });
    } else if (line.startsWith("-")) {
      diff.removed++;
      diff.lines.push({ kind: "remove", text: line.slice(1), before: before++, after: null });
    } else if (line.startsWith(" ") || line === "") {
      diff.lines.push({ kind: "same", text: line.slice(1), before: before++, after: after++ });
    } else {
      diff.lines.push({ kind: "note", text: line, before: null, after: null });
    }
  }
  return diff;
}
