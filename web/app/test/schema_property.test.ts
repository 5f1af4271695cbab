import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { draftOf, readDraft } from "../schema/draft";
import { isSame, numberOf } from "../schema/exact";
import { fieldOf } from "../schema/shape";

/** A schema, and values that fit it and that a form can have. */
interface Case {
  schema: object;
  value: fc.Arbitrary<unknown>;
}

const names = fc.constantFrom(
  "a",
  "b",
  "to",
  "a b",
  "chosen",
  "0",
  "constructor",
  "toString",
  "__proto__",
  "é",
);
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (n === 0 ? 0 : n));
const scalar = fc.oneof(fc.string(), fc.boolean(), fc.constant(null), number, fc.maxSafeInteger());
/** A text that is no empty one, which an optional member cannot have. */
const string = fc.string({ minLength: 1 });

const plain: fc.Arbitrary<Case> = fc.constantFrom<Case>(
  { schema: { type: "string" }, value: string },
  { schema: { type: "integer" }, value: fc.maxSafeInteger() },
  { schema: { type: "number" }, value: number },
  { schema: { type: "boolean" }, value: fc.boolean() },
  { schema: { type: ["number", "null"] }, value: number },
);

const choice: fc.Arbitrary<Case> = fc
  .uniqueArray(fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })), {
    minLength: 1,
    selector: (v) => JSON.stringify(v),
  })
  .filter((all) =>
    all.every((v) => !(typeof v === "number" && Number.isInteger(v) && !Number.isSafeInteger(v))),
  )
  .map((values) => JSON.parse(JSON.stringify(values)) as unknown[])
  .filter(
    (all) =>
      JSON.stringify(all).length < 400 &&
      all.flat().every((v) => !Number.isInteger(v) || Number.isSafeInteger(v)),
  )
  .map((values) => ({ schema: { enum: values }, value: fc.constantFrom(...values) }));

const { any } = fc.letrec<{ any: Case }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    plain,
    choice,
    objectOf(tie("any")),
    listOf(tie("any")),
    oneOf(tie("any")),
  ),
}));

function objectOf(of: fc.Arbitrary<Case>): fc.Arbitrary<Case> {
  const member = fc.record({ name: names, of, required: fc.boolean() });
  return fc.uniqueArray(member, { minLength: 1, maxLength: 3, selector: (m) => m.name }).map((all) => {
    const required = all.filter((m) => m.required).map((m) => m.name);
    const properties = Object.fromEntries(all.map((m) => [m.name, m.of.schema]));
    const pairs = all.map((m) =>
      m.required
        ? m.of.value.map((v) => [[m.name, v]])
        : fc.oneof(
            fc.constant([]),
            m.of.value.map((v) => (isEmpty(v) ? [] : [[m.name, v]])),
          ),
    );
    return {
      schema: { type: "object", required, properties },
      value: fc.tuple(...pairs).map((p) => Object.fromEntries(p.flat() as [string, unknown][])),
    };
  });
}

function listOf(of: fc.Arbitrary<Case>): fc.Arbitrary<Case> {
  return of.map((one) => ({
    schema: { type: "array", items: one.schema, minItems: 1, maxItems: 3 },
    value: fc.array(one.value, { minLength: 1, maxLength: 3 }),
  }));
}

/** Alternatives with a member that tells them apart. */
function oneOf(of: fc.Arbitrary<Case>): fc.Arbitrary<Case> {
  return fc.array(of, { minLength: 2, maxLength: 3 }).map((all) => ({
    schema: {
      oneOf: all.map((one, i) => ({
        type: "object",
        required: ["kind", "of"],
        properties: { kind: { const: i }, of: one.schema },
      })),
    },
    value: fc.oneof(...all.map((one, i) => one.value.map((v) => ({ kind: i, of: v })))),
  }));
}

/** Reports whether an optional member with this value is the same as one that is left out. */
function isEmpty(v: unknown): boolean {
  if (typeof v !== "object" || v === null) return v === "";
  return Object.values(v).length === 0 || (!Array.isArray(v) && Object.values(v).every(isEmpty));
}

const withValue = any.chain((c) => fc.tuple(fc.constant(c.schema), c.value));

describe("a form", () => {
  it("returns exactly the value that was put into it", () => {
    fc.assert(
      fc.property(withValue, ([schema, value]) => {
        const field = fieldOf(schema, "input");
        const draft = draftOf(field, value);
        expect(draft, JSON.stringify({ schema, value })).toBeDefined();
        const read = readDraft(field, draft);
        expect(read.faults).toEqual({});
        expect(JSON.parse(JSON.stringify(read.value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: 1_000 },
    );
  });

  it("takes no value that it cannot return, and each fault is below its field", () => {
    fc.assert(
      fc.property(any, fc.jsonValue(), ({ schema }, value) => {
        const field = fieldOf(schema, "input");
        const draft = draftOf(field, value);
        if (draft !== undefined) expect(isSame(readDraft(field, draft).value, value)).toBe(true);
        for (const path of Object.keys(readDraft(field, draft).faults)) expect(path).toMatch(/^input(\.|$)/);
      }),
      { numRuns: 1_000 },
    );
  });

  it("sends the number that was typed, or none", () => {
    const digits = fc.stringMatching(/^-?[0-9]{1,25}(\.[0-9]{1,25})?(e[+-]?[0-9]{1,3})?$/);
    fc.assert(
      fc.property(digits, (typed) => {
        const n = numberOf(typed);
        if (n !== null && Number.isInteger(n) && /^-?[0-9]+$/.test(typed))
          expect(BigInt(n)).toBe(BigInt(typed));
        if (n !== null) expect(numberOf(String(n))).toBe(n);
      }),
      { numRuns: 2_000 },
    );
  });
});
