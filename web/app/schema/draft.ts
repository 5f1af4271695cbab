import { isSame, keepsDigits, numberOf } from "./exact";
import type { Faults } from "./faults";
import { type Field, type ListShape, longestList, type Shape } from "./shape";

/**
 * What was typed: a text, the items of a list, or the members of an object. A choice is the JSON of
 * its value. Of alternatives, the member `chosen` is the number of the one that is shown, and the
 * drafts of all are kept under their numbers.
 */
export type Draft = string | readonly Draft[] | { readonly [name: string]: Draft };

export interface Read {
  /** Undefined if nothing was typed. */
  value: unknown;
  faults: Faults;
}

const nothing: Read = { value: undefined, faults: {} };

/** Returns the typed members of an object. */
export const membersOf = (draft: Draft | undefined): Readonly<Record<string, Draft>> =>
  (typeof draft === "object" && !Array.isArray(draft) ? draft : {}) as Record<string, Draft>;

/** Returns a typed member, which an object without it does not inherit. */
export const memberOf = (draft: Draft | undefined, name: string): Draft | undefined => {
  const members = membersOf(draft);
  return Object.hasOwn(members, name) ? members[name] : undefined;
};

/** Returns the typed items of a list. One that must have items begins with empty ones. */
export function itemsOf(field: Field, { least }: ListShape, draft: Draft | undefined): readonly Draft[] {
  const items = Array.isArray(draft) ? (draft as readonly Draft[]) : [];
  const missing = field.required ? Math.min(least, longestList) - items.length : 0;
  return missing > 0 ? [...items, ...Array<Draft>(missing).fill("")] : items;
}

/** Returns the field of an item of a list. */
export const itemField = (field: Field, { of }: ListShape, i: number): Field => ({
  ...field,
  description: undefined,
  label: `${field.label} ${i + 1}`,
  required: true,
  shape: of,
});

/** Returns the alternative that was chosen, as a field with the name of the whole. */
export function chosenOf(field: Field, of: readonly Field[], draft: Draft | undefined): Field | undefined {
  const chosen = memberOf(draft, "chosen");
  const one = typeof chosen === "string" && chosen !== "" ? of[Number(chosen)] : undefined;
  return one && { ...one, name: field.name, label: field.label };
}

/**
 * Returns the value that was typed, and what is wrong. Empty optional fields are left out. An empty
 * required field is a fault, also of text: an empty text can be written as JSON.
 */
export function readDraft(field: Field, draft: Draft | undefined, path = field.name): Read {
  const { shape } = field;
  switch (shape.is) {
    case "object":
      return readObject(field, shape.fields, draft, path);
    case "list":
      return readList(field, shape, draft, path);
    case "oneOf": {
      const one = chosenOf(field, shape.of, draft);
      if (one) return readDraft(one, memberOf(draft, String(memberOf(draft, "chosen"))), path);
      return field.required ? wrong(field, path, "is missing.") : nothing;
    }
    case "fixed":
      return { value: shape.value, faults: {} };
    default:
      return readPlain(field, shape, typeof draft === "string" ? draft : "", path);
  }
}

const wrong = (field: Field, path: string, what: string): Read => ({
  value: undefined,
  faults: { [path]: `${field.label} ${what}` },
});

function readPlain(field: Field, shape: Shape, typed: string, path: string): Read {
  if (shape.is === "boolean")
    return { value: typed !== "" || field.required ? typed === "true" : undefined, faults: {} };
  if (typed === "") return field.required ? wrong(field, path, "is missing.") : nothing;
  switch (shape.is) {
    case "string":
      return { value: typed, faults: {} };
    case "choice": {
      const one = shape.options.find((o) => JSON.stringify(o.value) === typed);
      return one ? { value: one.value, faults: {} } : wrong(field, path, "is not one of the choices.");
    }
    case "json":
      return readJSON(field, typed, path);
    default:
      return readNumber(field, shape.is === "integer", typed, path);
  }
}

const tooLong = "has a number with more digits than a page can send. Use perdure on the command line.";

function readNumber(field: Field, whole: boolean, typed: string, path: string): Read {
  const n = numberOf(typed);
  if (Number.isNaN(n)) return wrong(field, path, whole ? "must be a whole number." : "must be a number.");
  if (n === null) return wrong(field, path, tooLong);
  return whole && !Number.isInteger(n)
    ? wrong(field, path, "must be a whole number.")
    : { value: n, faults: {} };
}

function readJSON(field: Field, typed: string, path: string): Read {
  try {
    const value: unknown = JSON.parse(typed);
    return keepsDigits(typed) ? { value, faults: {} } : wrong(field, path, tooLong);
  } catch {
    return wrong(field, path, "is not JSON. A text stands in quotation marks.");
  }
}

function readObject(field: Field, fields: readonly Field[], draft: Draft | undefined, path: string): Read {
  if (!field.required && !isFilled(field.shape, draft)) return nothing;
  const read = fields.map(
    (f) => [f.name, readDraft(f, memberOf(draft, f.name), `${path}.${f.name}`)] as const,
  );
  return {
    value: Object.fromEntries(read.flatMap(([name, r]) => (r.value === undefined ? [] : [[name, r.value]]))),
    faults: Object.assign({}, ...read.map(([, r]) => r.faults)),
  };
}

function readList(field: Field, shape: ListShape, draft: Draft | undefined, path: string): Read {
  const items = itemsOf(field, shape, draft);
  if (items.length === 0 && !field.required) return nothing;
  const read = items.map((item, i) => readDraft(itemField(field, shape, i), item, `${path}.${i}`));
  const faults: Record<string, string> = Object.assign({}, ...read.map((r) => r.faults));
  if (items.length < shape.least) faults[path] = `${field.label} needs at least ${shape.least}.`;
  if (items.length > shape.most) faults[path] = `${field.label} takes at most ${shape.most}.`;
  return { value: read.map((r) => r.value), faults };
}

/** Reports whether anything was typed or chosen. */
function isFilled(shape: Shape, draft: Draft | undefined): boolean {
  if (shape.is === "fixed") return false;
  if (shape.is === "object") return shape.fields.some((f) => isFilled(f.shape, memberOf(draft, f.name)));
  if (shape.is === "oneOf") return Boolean(memberOf(draft, "chosen"));
  return Boolean(draft?.length);
}

/** Returns what must be typed for a value, or undefined if the form cannot have that value. */
export function draftOf(field: Field, value: unknown): Draft | undefined {
  const draft = typedFor(field.shape, value);
  return isSame(readDraft(field, draft).value, value) ? draft : undefined;
}

function typedFor(shape: Shape, value: unknown): Draft {
  switch (shape.is) {
    case "list":
      return Array.isArray(value) ? value.map((v) => typedFor(shape.of, v)) : [];
    case "object": {
      if (typeof value !== "object" || value === null) return {};
      const has = shape.fields.filter((f) => Object.hasOwn(value, f.name));
      const member = (name: string) => (value as Record<string, unknown>)[name];
      return Object.fromEntries(has.map((f) => [f.name, typedFor(f.shape, member(f.name))]));
    }
    case "oneOf": {
      const drafts = shape.of.map((f) => typedFor(f.shape, value));
      const fits = shape.of
        .map((f, i) => readDraft(f, drafts[i]))
        .map((r) => !hasFault(r) && isSame(r.value, value));
      const i = fits.indexOf(true);
      return i < 0 ? {} : { chosen: String(i), [i]: drafts[i] ?? "" };
    }
    case "json":
    case "choice":
      return JSON.stringify(value);
    case "fixed":
      return "";
    default:
      return typeof value === "object" ? "" : String(value);
  }
}

const hasFault = (r: Read) => Object.keys(r.faults).length > 0;
