import { type Absent, absentOf, contentOf, type Entry, fileText } from "../../client/src/index";
import { ansi } from "../text/ansi";
import { firstLine, size } from "../text/format";

/** An entry of the tree as a line. */
export interface Branch {
  entry: Entry;
  /** The indentation: one level for each fork before the entry. */
  depth: number;
  /** The entry is not on the path from the root to the newest message. */
  beside: boolean;
  label: string;
  text: string;
}

/** Returns the tree, each entry after its parent. Entries beside the path are indented below it. */
export function branchesOf(entries: readonly Entry[]): Branch[] {
  const children = new Map<string | null, Entry[]>();
  for (const e of entries) {
    const siblings = children.get(e.parentId) ?? [];
    siblings.push(e);
    children.set(e.parentId, siblings);
  }
  const path = pathOf(entries);
  const rows: Branch[] = [];
  // A loop, not a recursion, because a conversation can be deeper than the call stack.
  const todo: { entry: Entry; depth: number }[] = (children.get(null) ?? [])
    .map((entry) => ({ entry, depth: 0 }))
    .reverse();
  for (let next = todo.pop(); next; next = todo.pop()) {
    const { entry, depth } = next;
    const beside = !path.has(entry.id);
    rows.push({ entry, depth, beside, label: labelOf(entry), text: textOf(entry) });
    const below = children.get(entry.id) ?? [];
    const on = below.filter((e) => path.has(e.id));
    const off = below.filter((e) => !path.has(e.id));
    for (const e of on) todo.push({ entry: e, depth });
    for (const e of off.reverse())
      todo.push({ entry: e, depth: beside && below.length === 1 ? depth : depth + 1 });
  }
  return rows;
}

/** Returns the ids from the newest message up to its root. */
function pathOf(entries: readonly Entry[]): Set<string> {
  const byId = new Map(entries.map((e) => [e.id, e]));
  const path = new Set<string>();
  let at: Entry | undefined = entries.findLast((e) => e.entryType !== "llm_call");
  while (at && !path.has(at.id)) {
    path.add(at.id);
    at = at.parentId === null ? undefined : byId.get(at.parentId);
  }
  return path;
}

function labelOf(e: Entry): string {
  if (e.entryType !== "message") return e.entryType.replace("_", " ");
  return e.role === "tool_result" ? "result" : (e.role ?? "message");
}

function textOf(e: Entry): string {
  const absent = absentOf(e);
  if (absent) return absentText(absent);
  const words: string[] = [];
  for (const p of contentOf(e)?.parts ?? []) {
    if (p.type === "text" || p.type === "compaction") words.push(p.text);
    else if (p.type === "toolCall") words.push(`→ ${p.name}`);
    else if (p.type === "toolResult")
      words.push(...(p.parts ?? []).flatMap((q) => (q.type === "text" ? [q.text] : [])));
    else if (p.type === "file" || (p.type === "image" && "url" in p)) words.push(fileText(p));
    else if (p.type === "image") words.push("[image]");
  }
  if (words.length === 0 && e.entryType === "llm_call") return modelOf(e.metadata);
  const plain = ansi(words.join(" ")).map((p) => p.text);
  return firstLine(plain.join(""), 100);
}

function absentText({ bytes, onWorker }: Absent): string {
  return onWorker ? `(${size(bytes)} on its worker)` : `(${size(bytes)})`;
}

/** Returns the model of a call, from the entry's metadata. */
function modelOf(metadata: unknown): string {
  const { model } = (metadata ?? {}) as { model?: { provider?: string; modelId?: string } };
  return model?.modelId ? `${model.provider}/${model.modelId}` : "";
}
