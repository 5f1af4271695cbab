import { isExact } from "./exact";

/** A member of an object, or what a schema alone describes. */
export interface Field {
  name: string;
  label: string;
  description: string | undefined;
  required: boolean;
  shape: Shape;
}

/** A value to choose, and its name in the list. */
export interface Option {
  value: unknown;
  label: string;
}

/** The items of a list, and how many it may have. */
export interface ListShape {
  is: "list";
  of: Shape;
  least: number;
  most: number;
}

/** What a form asks for. A value that no other shape fits is written as JSON. */
export type Shape =
  | { is: "string" | "integer" | "number" | "boolean" | "json" }
  | { is: "choice"; options: readonly Option[] }
  | { is: "fixed"; value: unknown }
  | { is: "oneOf"; of: readonly Field[] }
  | { is: "object"; fields: readonly Field[] }
  | ListShape;

interface Schema {
  $ref?: unknown;
  type?: unknown;
  title?: unknown;
  description?: unknown;
  const?: unknown;
  enum?: unknown;
  oneOf?: unknown;
  anyOf?: unknown;
  properties?: Record<string, unknown>;
  required?: unknown;
  items?: unknown;
  minItems?: unknown;
  maxItems?: unknown;
}

const json: Shape = { is: "json" };
const plain: readonly unknown[] = ["string", "integer", "number", "boolean"];
/** Keywords of which a form cannot show what they allow. */
const unshown = ["allOf", "not", "if", "patternProperties", "prefixItems", "dependentSchemas"];
/** The depth from which values are written as JSON. Schemas can contain themselves. */
const deepest = 5;
/** The maximum number of inputs of a form. A schema with more is shown to a smaller depth. */
const mostShapes = 400;
/** The number of references that are followed from one to the next. */
const mostReferences = 8;
/** The maximum number of items in a form. */
export const longestList = 200;

/** What is read: the whole schema, the depth to which, and how many shapes may follow. */
interface Reading {
  root: unknown;
  deepest: number;
  left: number;
}

const text = (v: unknown): string | undefined => (typeof v === "string" && v !== "" ? v : undefined);
const namesIn = (v: unknown): string[] => (Array.isArray(v) ? v.filter((n) => typeof n === "string") : []);

/** Returns the field for a whole schema. Its name is not shown. */
export function fieldOf(schema: unknown, name: string): Field {
  for (let depth = deepest; depth > 0; depth--) {
    const reading = { root: schema, deepest: depth, left: mostShapes };
    const field = readField(reading, schema, name, true, 0);
    if (reading.left >= 0) return field;
  }
  return { name, label: name, description: undefined, required: true, shape: json };
}

/** Reports whether a form helps: the schema has more than one text of JSON. */
export const hasForm = ({ shape }: Field): boolean =>
  shape.is !== "json" && !(shape.is === "object" && shape.fields.length === 0);

function readField(r: Reading, part: unknown, name: string, required: boolean, depth: number): Field {
  const s = resolved(r.root, part);
  const shape = shapeOf(r, s, depth);
  const field = { name, label: text(s.title) ?? name, description: text(s.description), required, shape };
  return required ? field : { ...field, shape: optional(shape) };
}

/** Returns the shape of a value that can be left out. */
function optional(shape: Shape): Shape {
  if (shape.is === "fixed") return { is: "choice", options: [option(shape.value)] };
  if (shape.is !== "oneOf") return shape;
  const [one, ...more] = shape.of.filter((f) => f.shape.is !== "fixed" || f.shape.value !== null);
  return one && more.length === 0 ? one.shape : shape; // null, or nothing, is the same to most programs
}

/** Follows references to the schema's own definitions. What is said beside a reference holds as well. */
function resolved(root: unknown, part: unknown): Schema {
  let s = schemaIn(part);
  for (let n = 0; "$ref" in s; n++) {
    const { $ref, ...beside } = s;
    if (n === mostReferences || typeof $ref !== "string" || !/^#(\/|$)/.test($ref)) return {};
    let at: unknown = root;
    for (const step of $ref.split("/").slice(1))
      at = (at as Record<string, unknown> | undefined)?.[step.replaceAll("~1", "/").replaceAll("~0", "~")];
    s = { ...schemaIn(at), ...beside };
  }
  return s;
}

const schemaIn = (part: unknown): Schema =>
  (typeof part === "object" && part !== null && !Array.isArray(part) ? part : {}) as Schema;

function shapeOf(r: Reading, s: Schema, depth: number): Shape {
  if (--r.left < 0 || unshown.some((k) => k in s)) return json;
  if ("const" in s) return isExact(s.const) ? { is: "fixed", value: s.const } : json;
  if (s.enum !== undefined) return choice(s.enum);
  if ("oneOf" in s || "anyOf" in s) return alternatives(r, s, depth);
  const types = Array.isArray(s.type) ? s.type : [s.type];
  const [type, ...more] = types.length > 1 ? types.filter((t) => t !== "null") : types;
  if (more.length > 0) {
    const { title: _, description: __, ...one } = s;
    return oneOf(r, types.map((t) => ({ ...one, type: t })), depth); // biome-ignore format: one idea
  }
  if (plain.includes(type)) return { is: type as "string" };
  if (type === "null") return { is: "fixed", value: null };
  if (type === "array") return list(r, s, depth);
  return type === "object" ? object(r, s, depth) : json;
}

function choice(values: unknown): Shape {
  if (!Array.isArray(values) || values.length === 0 || !values.every(isExact)) return json;
  const once = [...new Map(values.map((v) => [JSON.stringify(v), v])).values()];
  const others = new Set(once.filter((v) => typeof v !== "string").map((v) => JSON.stringify(v)));
  const labelled = once.map((v) => (others.has(v) ? { value: v, label: JSON.stringify(v) } : option(v)));
  return { is: "choice", options: labelled };
}

const option = (value: unknown): Option => ({ value, label: textOf(value) });
const textOf = (value: unknown): string => text(value) ?? JSON.stringify(value);

function list(r: Reading, s: Schema, depth: number): Shape {
  if (depth >= r.deepest) return json;
  const of = shapeOf(r, resolved(r.root, s.items), depth + 1);
  if (of.is === "json") return json;
  const count = (v: unknown, other: number) => (Number.isSafeInteger(v) ? Math.max(0, v as number) : other);
  return { is: "list", of, least: count(s.minItems, 0), most: Math.min(count(s.maxItems, longestList), longestList) };
} // biome-ignore format: one idea

function object(r: Reading, s: Schema, depth: number): Shape {
  if (!s.properties || depth >= r.deepest) return json;
  const required = namesIn(s.required);
  const fields = Object.entries(s.properties).map(([name, p]) =>
    readField(r, p, name, required.includes(name), depth + 1),
  );
  return { is: "object", fields: fields.sort((a, b) => Number(b.required) - Number(a.required)) };
}

/** Reads oneOf and anyOf alike: a form writes one alternative, and the server checks the rest. */
function alternatives(r: Reading, s: Schema, depth: number): Shape {
  const { oneOf: one, anyOf: any, title: _, description: __, ...base } = s;
  const parts = one === undefined || any === undefined ? (one ?? any) : undefined;
  if (!Array.isArray(parts) || parts.length === 0 || depth >= r.deepest) return json;
  const schemas = parts.map((p) => resolved(r.root, p));
  const asked = new Set(schemas.flatMap((p) => namesIn(p.required)));
  return oneOf(r, schemas.map((p) => merged(base, p, asked)), depth); // biome-ignore format: one idea
}

/**
 * Returns an alternative with what holds for all. A member that only another alternative requires is
 * left to that one.
 */
function merged(base: Schema, part: Schema, asked: ReadonlySet<string>): Schema {
  const required = [...new Set([...namesIn(base.required), ...namesIn(part.required)])];
  const shared = Object.entries(base.properties ?? {}).filter(
    ([name]) => required.includes(name) || !asked.has(name),
  );
  const properties = { ...Object.fromEntries(shared), ...part.properties };
  return {
    ...base,
    ...part,
    ...(base.properties || part.properties ? { properties } : {}),
    ...(required.length > 0 ? { required } : {}),
  };
}

function oneOf(r: Reading, schemas: readonly Schema[], depth: number): Shape {
  const of = schemas.map((s): Field => {
    const shape = shapeOf(r, s, depth + 1);
    const label = labelOf(r.root, s, shape);
    return { name: label, label, description: text(s.description), required: true, shape };
  });
  if (of.every((f) => f.shape.is === "json")) return json;
  const [one] = of;
  if (one && of.length === 1) return one.shape;
  const named = of.map((f, i) => {
    const alike = f.label === "" || of.some((g) => g !== f && g.label === f.label);
    return alike ? { ...f, label: `${f.label || "Form"} ${i + 1}` } : f;
  });
  if (!named.every((f) => f.shape.is === "fixed")) return { is: "oneOf", of: named };
  const options = named.map((f) => ({
    value: f.shape.is === "fixed" ? f.shape.value : null,
    label: f.label,
  }));
  return { is: "choice", options };
}

const words: Partial<Record<Shape["is"], string>> = {
  string: "Text",
  integer: "Whole number",
  number: "Number",
  boolean: "Yes or no",
  list: "List",
  choice: "Choice",
  json: "JSON",
};

/** Returns the name of an alternative: its title, the member that tells it apart, or what it is. */
function labelOf(root: unknown, s: Schema, shape: Shape): string {
  const title = text(s.title);
  if (title) return title;
  if (shape.is === "fixed") return shape.value === null ? "Nothing" : textOf(shape.value);
  if (shape.is !== "object") return words[shape.is] ?? "";
  for (const part of Object.values(s.properties ?? {})) {
    const p = resolved(root, part);
    if ("const" in p) return textOf(p.const);
    if (Array.isArray(p.enum) && p.enum.length === 1) return textOf(p.enum[0]);
  }
  return namesIn(s.required).join(", ");
}
