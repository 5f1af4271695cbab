import type { Wait } from "../../client/src/index";

/** A condition of a wait in words, with what it consists of. */
export interface WaitWords {
  text: string;
  met: boolean;
  /** When a timer ends. */
  until: string | null;
  parts: WaitWords[];
}

/** The names of tasks and questions, by their ids. */
export type Names = ReadonlyMap<string, string>;

/** Returns a wait in words. A group of one condition is that condition. */
export function waitWords(w: Wait, names: Names = new Map()): WaitWords {
  const group = w.any ?? w.all;
  const [only] = group ?? [];
  if (group && group.length === 1 && only) return waitWords(only, names);
  const leaf = (text: string, until: string | null = null): WaitWords => ({
    text,
    met: w.met ?? false,
    until,
    parts: [],
  });
  if (group) return { ...leaf(w.any ? "one of" : "all of"), parts: group.map((p) => waitWords(p, names)) };
  if (w.signal) return leaf(w.signal.includes("*") ? `a signal like ${w.signal}` : `the signal ${w.signal}`);
  if (w.timer) return leaf("a timer", w.timer);
  if (w.after) return leaf("a timer");
  if (w.task) return leaf(`the task ${names.get(w.task) ?? w.task.slice(-8)}`);
  if (w.question) return leaf("an answer to a question");
  return leaf("something that this page does not know");
}

/** Returns the wait as one line. */
export function waitLine(w: Wait, names?: Names): string {
  const line = (of: WaitWords): string => {
    if (of.parts.length === 0) return of.text;
    return `${of.text} ${of.parts.map(line).join(", ")}`;
  };
  return line(waitWords(w, names));
}

/** Returns the signals that can still meet a wait, each once, in their order. */
export function signalsOf(w: Wait | null): string[] {
  if (!w || w.met) return [];
  const inner = [...(w.any ?? []), ...(w.all ?? [])].flatMap(signalsOf);
  return [...new Set(w.signal ? [w.signal, ...inner] : inner)];
}
