/** A member of an object, or what a schema alone describes. */
export interface Field {
  name: string;
  label: string;
  description: string | undefined;
  required: boolean;
  shape: Shape;
}

/** What a form asks for. A value that no other shape fits is written as JSON. */
export type Shape =
  | { is: "string" | "integer" | "number" | "boolean" | "json" }
  | { is: "choice"; options: readonly (string | number)[] }
  | { is: "list"; of: Shape }
  | { is: "object"; fields: readonly Field[] };

interface Schema {
  $ref?: unknown;
  type?: unknown;
  title?: unknown;
  description?: unknown;
  enum?: unknown;
  properties?: Record<string, unknown>;
  required?: unknown;
  items?: unknown;
}

const plain: readonly unknown[] = ["string", "integer", "number", "boolean"];
const combined = ["oneOf", "anyOf", "allOf", "not", "if", "patternProperties", "prefixItems", "const"];
/** The depth from which nested objects are written as JSON. Schemas can contain themselves. */
const deepest = 4;

const text = (v: unknown): string | undefined => (typeof v === "string" && v !== "" ? v : undefined);

/** Returns the field for a whole schema. Its name is not shown. */
export function fieldOf(schema: unknown, name: string): Field {
  return readField(schema, schema, name, true, 0);
}

/** Reports whether a form helps: the schema has more than one text of JSON. */
export const hasForm = (field: Field): boolean =>
  field.shape.is !== "json" && !(field.shape.is === "object" && field.shape.fields.length === 0);

function readField(root: unknown, part: unknown, name: string, required: boolean, depth: number): Field {
  const s = resolved(root, part);
  return {
    name,
    label: text(s.title) ?? name,
    description: text(s.description),
    required,
    shape: shapeOf(root, s, depth),
  };
}

/** Follows a reference to the schema's own definitions. */
function resolved(root: unknown, part: unknown): Schema {
  let s = (typeof part === "object" && part !== null ? part : {}) as Schema;
  for (let n = 0; n < deepest && typeof s.$ref === "string"; n++) {
    if (!s.$ref.startsWith("#/")) return {};
    let at: unknown = root;
    for (const step of s.$ref.slice(2).split("/"))
      at = (at as Record<string, unknown> | undefined)?.[step.replaceAll("~1", "/").replaceAll("~0", "~")];
    s = (typeof at === "object" && at !== null ? at : {}) as Schema;
  }
  return s;
}

function shapeOf(root: unknown, s: Schema, depth: number): Shape {
  const json: Shape = { is: "json" };
  if (combined.some((c) => c in s)) return json;
  if (s.enum !== undefined) {
    const options = Array.isArray(s.enum) ? s.enum : [];
    const fits = options.length > 0 && options.every((o) => typeof o === "string" || typeof o === "number");
    return fits ? { is: "choice", options } : json;
  }
  const types = (Array.isArray(s.type) ? s.type : [s.type]).filter((t) => t !== "null");
  const [type] = types;
  if (types.length !== 1) return json;
  if (plain.includes(type)) return { is: type as "string" };
  if (type === "array") {
    const of = shapeOf(root, resolved(root, s.items), depth + 1);
    return plain.includes(of.is) || of.is === "choice" ? { is: "list", of } : json;
  }
  if (type !== "object" || !s.properties || depth >= deepest) return json;
  const required = Array.isArray(s.required) ? s.required : [];
  const fields = Object.entries(s.properties).map(([name, p]) =>
    readField(root, p, name, required.includes(name), depth + 1),
  );
  return { is: "object", fields: fields.sort((a, b) => Number(b.required) - Number(a.required)) };
}

/** What was typed: a text, the items of a list, or the members of an object. */
export type Draft = string | readonly Draft[] | { readonly [name: string]: Draft };

/** The problems of a form, by the path of their field, such as `to.name` or `notes.0`. */
export type Faults = Readonly<Record<string, string>>;

export interface Read {
  /** Undefined if nothing was typed. */
  value: unknown;
  faults: Faults;
}

/** Returns the value that was typed, and what is wrong. Empty optional fields are left out. */
export function readDraft(field: Field, draft: Draft | undefined, path = field.name): Read {
  const { shape } = field;
  if (shape.is === "object") return readObject(field, shape.fields, draft, path);
  if (shape.is === "list") return readList(field, shape.of, draft, path);
  const typed = typeof draft === "string" ? draft : "";
  const wrong = (what: string): Read => ({ value: undefined, faults: { [path]: `${field.label} ${what}` } });
  if (shape.is === "boolean")
    return { value: typed !== "" || field.required ? typed === "true" : undefined, faults: {} };
  if (typed === "" && !(shape.is === "string" && field.required))
    return field.required ? wrong("is missing.") : { value: undefined, faults: {} };
  switch (shape.is) {
    case "string":
      return { value: typed, faults: {} };
    case "choice":
      return { value: shape.options.find((o) => String(o) === typed), faults: {} };
    case "json":
      try {
        return { value: JSON.parse(typed), faults: {} };
      } catch {
        return wrong("is not JSON. A text stands in quotation marks.");
      }
    default: {
      const n = Number(typed);
      if (shape.is === "integer" && !Number.isSafeInteger(n)) return wrong("must be a whole number.");
      return Number.isFinite(n) ? { value: n, faults: {} } : wrong("must be a number.");
    }
  }
}

function readObject(field: Field, fields: readonly Field[], draft: Draft | undefined, path: string): Read {
  const typed = (typeof draft === "object" && !Array.isArray(draft) ? draft : {}) as Record<string, Draft>;
  if (!field.required && !isFilled(typed)) return { value: undefined, faults: {} };
  const value: Record<string, unknown> = {};
  let faults: Faults = {};
  for (const f of fields) {
    const read = readDraft(f, typed[f.name], `${path}.${f.name}`);
    if (read.value !== undefined) value[f.name] = read.value;
    faults = { ...faults, ...read.faults };
  }
  return { value, faults };
}

function readList(field: Field, of: Shape, draft: Draft | undefined, path: string): Read {
  const items = Array.isArray(draft) ? (draft as readonly Draft[]) : [];
  if (items.length === 0) return { value: field.required ? [] : undefined, faults: {} };
  const one = (i: number): Field => ({
    ...field,
    label: `${field.label} ${i + 1}`,
    required: true,
    shape: of,
  });
  const read = items.map((item, i) => readDraft(one(i), item, `${path}.${i}`));
  return { value: read.map((r) => r.value), faults: Object.assign({}, ...read.map((r) => r.faults)) };
}

function isFilled(d: Draft | undefined): boolean {
  if (d === undefined || typeof d === "string") return d !== undefined && d !== "";
  return Object.values(d).some(isFilled);
}

/**
 * Returns the server's errors by the path of their field. `base` is the location of the form's value
 * in the request, `name` that of the form's own field. A missing member is an error of the object;
 * it is shown at the member.
 */
export function faultsAt(
  errors: readonly { location: string; message: string }[],
  base: string,
  name: string,
): Faults {
  const faults: Record<string, string> = {};
  for (const { location, message } of errors) {
    const at = location.replace(/^body\.?/, "").replace(/\[(\d+)\]/g, ".$1");
    if (at !== base && !at.startsWith(`${base}.`)) continue;
    const missing = /^missing propert\w+ '([^']+)'/.exec(message)?.[1];
    faults[`${name}${at.slice(base.length)}${missing ? `.${missing}` : ""}`] = message;
  }
  return faults;
}
