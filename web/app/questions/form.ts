/** A field of a form, from a property of a JSON Schema. */
export interface Field {
  name: string;
  label: string;
  description: string | undefined;
  required: boolean;
  type: "string" | "integer" | "number" | "boolean";
  /** The values to choose from; empty if any value of the type fits. */
  options: readonly string[];
}

interface Property {
  type?: unknown;
  title?: unknown;
  description?: unknown;
  enum?: unknown;
}

const types: readonly unknown[] = ["string", "integer", "number", "boolean"];
const text = (v: unknown): string | undefined => (typeof v === "string" && v !== "" ? v : undefined);

/**
 * Returns the fields of a schema that is an object of plain values, the required ones first, or null
 * for any other schema. Such values are written as JSON.
 */
export function fieldsOf(schema: unknown): Field[] | null {
  const s = schema as { type?: unknown; properties?: Record<string, Property>; required?: unknown } | null;
  if (s?.type !== "object" || !s.properties) return null;
  const required = Array.isArray(s.required) ? s.required : [];
  const fields: Field[] = [];
  for (const [name, p] of Object.entries(s.properties)) {
    const options = p.enum === undefined ? [] : p.enum;
    if (!types.includes(p.type) || !Array.isArray(options)) return null;
    if (options.length > 0 && (p.type !== "string" || options.some((o) => typeof o !== "string")))
      return null;
    fields.push({
      name,
      label: text(p.title) ?? name,
      description: text(p.description),
      required: required.includes(name),
      type: p.type as Field["type"],
      options,
    });
  }
  if (fields.length === 0) return null;
  return fields.sort((a, b) => Number(b.required) - Number(a.required));
}

/** What was typed into the fields, by their names. A checkbox has "true" or "false". */
export type Typed = Readonly<Record<string, string>>;

/** Returns the object that the fields mean, or what is wrong. Empty optional fields are left out. */
export function filledIn(fields: readonly Field[], typed: Typed): { value: unknown; problem: string | null } {
  const value: Record<string, unknown> = {};
  for (const f of fields) {
    const given = typed[f.name] ?? "";
    if (f.type === "boolean") {
      if (given !== "" || f.required) value[f.name] = given === "true";
    } else if (given === "") {
      if (f.required && f.type !== "string") return { value, problem: `${f.label} is missing.` };
      if (f.required && f.options.length > 0) return { value, problem: `Choose ${f.label}.` };
      if (f.required) value[f.name] = "";
    } else if (f.type === "string") {
      value[f.name] = given;
    } else {
      const n = Number(given);
      if (!Number.isFinite(n) || (f.type === "integer" && !Number.isSafeInteger(n))) {
        return {
          value,
          problem: `${f.label} must be ${f.type === "integer" ? "a whole number" : "a number"}.`,
        };
      }
      value[f.name] = n;
    }
  }
  return { value, problem: null };
}
