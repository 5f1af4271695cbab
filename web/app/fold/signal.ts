/** The signals that a kind registers. A name can be a pattern, such as `approval.*`. */
export interface Declared {
  kind: string;
  names: readonly string[];
}

/** Returns the registered signals of a kind. A kind without any accepts every name. */
export const declaredBy = (kind: string, specs: readonly { name: string }[] | undefined): Declared => ({
  kind,
  names: (specs ?? []).map((s) => s.name),
});

/** Reports whether a kind that registers its signals registers none of this name, as the server does. */
export function isUndeclared(name: string, { names }: Declared): boolean {
  if (names.length === 0 || name === "userMessage" || name.startsWith("perdure.")) return false;
  return !names.some((n) => matchesName(n, name));
}

/** Says that a kind does not declare a signal, with the nearest name that it declares. */
export function undeclaredText(name: string, { kind, names }: Declared): string {
  const near = nearest(
    name,
    names.map((n) => filledIn(n, name)),
  );
  const meant = near === null ? "" : ` Did you mean ${near}?`;
  return `The kind ${kind} does not declare a signal ${name}.${meant}`;
}

/** Reports whether a name matches a pattern: `*` is one segment between dots, `**` one or more. */
export function matchesName(pattern: string, name: string): boolean {
  const parts = pattern.split(".");
  let at = new Set([0]);
  for (const segment of name.split(".")) {
    const next = new Set<number>();
    for (const p of at) {
      if (parts[p] === "**") next.add(p).add(p + 1);
      else if (parts[p] === "*" || parts[p] === segment) next.add(p + 1);
    }
    at = next;
  }
  return at.has(parts.length);
}

/** Returns a pattern with the segments of a name in place of its wildcards, where both have as many. */
function filledIn(pattern: string, name: string): string {
  const [parts, segments] = [pattern.split("."), name.split(".")];
  if (parts.length !== segments.length) return pattern;
  return parts.map((p, i) => (p.startsWith("*") ? segments[i] : p)).join(".");
}

/** Returns the name that differs least from a typed one, or null if none is similar. */
function nearest(typed: string, names: readonly string[]): string | null {
  const most = Math.max(2, Math.floor(typed.length / 3));
  const ranked = names
    .map((name) => ({ name, by: distance(typed.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.by - b.by);
  return ranked[0] && ranked[0].by <= most ? ranked[0].name : null;
}

/** Returns the number of characters to insert, delete or replace to change one text into another. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let k = 1; k <= b.length; k++) {
      const replaced = (row[k - 1] ?? 0) + (a[i - 1] === b[k - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[k] ?? 0) + 1, (next[k - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
