const number = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const stringsAndNumbers = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi;

/** Returns the number that was typed, NaN if it is none, and null if a number here cannot have its digits. */
export function numberOf(typed: string): number | null {
  const t = typed.trim();
  if (!number.test(t)) return Number.NaN;
  const n = Number(t);
  return Number.isFinite(n) && digitsOf(t) === digitsOf(String(n)) ? n + 0 : null; // + 0: not -0, which JSON has no use for
}

/** Returns the significant digits of a decimal number and their place, which equal numbers share. */
function digitsOf(decimal: string): string {
  const [mantissa = "", exponent = "0"] = decimal.toLowerCase().replace(/^[+-]/, "").split("e");
  const [whole = "", part = ""] = mantissa.split(".");
  const digits = (whole + part).replace(/^0+/, "");
  const kept = digits.replace(/0+$/, "");
  return kept === "" ? "0" : `${kept}e${Number(exponent) - part.length + digits.length - kept.length}`;
}

/** Reports whether all numbers in a text of JSON keep their digits in a page. */
export function keepsDigits(json: string): boolean {
  return (json.match(stringsAndNumbers) ?? []).every((m) => m.startsWith('"') || numberOf(m) !== null);
}

/** Reports whether a value that was read from JSON is surely what was written there. */
export function isExact(value: unknown): boolean {
  if (typeof value === "number") return !Number.isInteger(value) || Number.isSafeInteger(value);
  return typeof value !== "object" || value === null || Object.values(value).every(isExact);
}

/** Reports whether two values are the same JSON. The order of members does not matter. */
export function isSame(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  const member = (of: object, n: string) => (of as Record<string, unknown>)[n];
  return (
    names.length === Object.keys(b).length &&
    names.every((n) => Object.hasOwn(b, n) && isSame(member(a, n), member(b, n)))
  );
}
