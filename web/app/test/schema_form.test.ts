import { describe, expect, it } from "vitest";
import { type Draft, draftOf, readDraft } from "../schema/draft";
import { faultsAt } from "../schema/faults";
import { fieldOf, hasForm, type Shape } from "../schema/shape";

const schema = {
  type: "object",
  required: ["days", "team", "to"],
  $defs: { Address: { type: "object", required: ["name"], properties: { name: { type: "string" } } } },
  properties: {
    note: { type: "string", description: "for the log" },
    days: { type: "integer", title: "How long" },
    team: { type: "string", enum: ["red", "blue"] },
    size: { enum: [1, 2] },
    sure: { type: "boolean" },
    share: { type: ["number", "null"] },
    names: { type: ["array", "null"], items: { type: "string" } },
    to: { $ref: "#/$defs/Address" },
    from: { $ref: "#/$defs/Address" },
    other: { oneOf: [] },
  },
};

describe("a form by a schema", () => {
  const field = fieldOf(schema, "input");
  const read = (draft: Draft) => readDraft(field, draft);
  const filled = { days: "3", team: '"red"', to: { name: "ann" } };

  it("has a field for each member, the required ones first", () => {
    const fields = field.shape.is === "object" ? field.shape.fields : [];
    expect(fields.map((f) => `${f.label}:${f.shape.is}:${f.required}`)).toEqual([
      "How long:integer:true",
      "team:choice:true",
      "to:object:true",
      "note:string:false",
      "size:choice:false",
      "sure:boolean:false",
      "share:number:false",
      "names:list:false",
      "from:object:false",
      "other:json:false",
    ]);
  });

  it("leaves to JSON what it cannot show", () => {
    const loop = { $defs: { A: { $ref: "#/$defs/A" } }, $ref: "#/$defs/A" };
    for (const other of [undefined, true, {}, { type: "object" }, { type: "object", properties: {} }, loop]) {
      expect(hasForm(fieldOf(other, "input")), JSON.stringify(other)).toBe(false);
    }
    expect(hasForm(fieldOf({ type: "string" }, "input"))).toBe(true);
    const deep = { properties: { in: { $ref: "#" } }, type: "object" };
    expect(JSON.stringify(fieldOf(deep, "input"))).toContain('"json"');
    const any = { type: "array", items: {} };
    expect(fieldOf(any, "input").shape.is).toBe("json");
    for (const more of [{ allOf: [] }, { if: {} }, { oneOf: [{}], anyOf: [{}] }, { oneOf: [] }])
      expect(
        fieldOf({ type: "object", properties: { a: { type: "string" } }, ...more }, "input").shape.is,
      ).toBe("json");
  });

  it("returns what was typed, without empty optional fields", () => {
    expect(read(filled)).toEqual({ value: { days: 3, team: "red", to: { name: "ann" } }, faults: {} });
    const all = {
      ...filled,
      size: "2",
      sure: "false",
      share: "0.5",
      note: "x",
      names: ["a", "b"],
      other: '{"a":1}',
    };
    expect(read(all).value).toEqual({
      days: 3,
      team: "red",
      to: { name: "ann" },
      size: 2,
      sure: false,
      share: 0.5,
      note: "x",
      names: ["a", "b"],
      other: { a: 1 },
    });
    expect(read({ ...filled, from: { name: "" } }).value).not.toHaveProperty("from");
  });

  it("says at each field what is wrong", () => {
    expect(read({ share: "much", other: "{", names: [] }).faults).toEqual({
      "input.days": "How long is missing.",
      "input.team": "team is missing.",
      "input.to.name": "name is missing.",
      "input.share": "share must be a number.",
      "input.other": "other is not JSON. A text stands in quotation marks.",
    });
    expect(read({ ...filled, days: "1.5" }).faults).toEqual({
      "input.days": "How long must be a whole number.",
    });
    const list = fieldOf({ type: "array", items: { type: "integer" } }, "input");
    expect(readDraft(list, ["1", "x"]).faults).toEqual({ "input.1": "input 2 must be a whole number." });
  });

  it("says which required texts are empty, also in lists and alternatives", () => {
    expect(read({ ...filled, to: { name: "" } }).faults).toEqual({ "input.to.name": "name is missing." });
    expect(read({ ...filled, from: { name: "" }, note: "" }).faults).toEqual({});
    expect(read({ ...filled, names: ["a", ""] }).faults).toEqual({ "input.names.1": "names 2 is missing." });
    const either = fieldOf({ anyOf: [{ type: "string" }, { type: "integer" }] }, "input");
    expect(readDraft(either, { chosen: "0" }).faults).toEqual({ input: "input is missing." });
    expect(draftOf(field, { days: 3, team: "red", to: { name: "" } }), "stays JSON").toBeUndefined();
  });

  it("finds the field of an error of the server", () => {
    const faults = faultsAt(
      [
        { location: "input.to.name", message: "got number, want string" },
        { location: "body.input.names[1]", message: "too short" },
        { location: "input", message: "missing property 'days'" },
        { location: "queue", message: "is too long" },
      ],
      "input",
      "input",
    );
    expect(faults).toEqual({
      "input.to.name": "got number, want string",
      "input.names.1": "too short",
      "input.days": "missing property 'days'",
    });
  });
});

const shapeOf = (s: unknown): Shape => fieldOf(s, "v").shape;

describe("values to choose", () => {
  const mixed = { enum: [1, "1", true, null, "", "a", 2.5, { b: [1] }, 1.0] };

  it("are returned exactly, whatever their type", () => {
    const field = fieldOf(mixed, "v");
    const { shape } = field;
    if (shape.is !== "choice") throw new Error(shape.is);
    expect(shape.options.map((o) => o.label)).toEqual([
      "1",
      '"1"',
      "true",
      "null",
      '""',
      "a",
      "2.5",
      '{"b":[1]}',
    ]);
    for (const { value } of shape.options)
      expect(readDraft(field, JSON.stringify(value))).toEqual({ value, faults: {} });
    expect(readDraft(field, "7").faults).toEqual({ v: "v is not one of the choices." });
  });

  it("are left to JSON where a digit can be lost", () => {
    expect(shapeOf({ enum: [1, 2 ** 60] }).is).toBe("json");
    expect(shapeOf({ const: { id: 2 ** 60 } }).is).toBe("json");
  });

  it("have the titles of alternatives that are constants", () => {
    const field = fieldOf(
      { oneOf: [{ const: 1, title: "Low" }, { const: 2, title: "High" }, { type: "null" }] },
      "v",
    );
    expect(field.shape).toEqual({
      is: "choice",
      options: [
        { value: 1, label: "Low" },
        { value: 2, label: "High" },
        { value: null, label: "Nothing" },
      ],
    });
  });

  it("are sent without a choice if there is one alone, and it is required", () => {
    const one = { type: "object", required: ["v"], properties: { v: { const: "1.0" }, w: { const: false } } };
    const field = fieldOf(one, "input");
    expect(readDraft(field, undefined).value).toEqual({ v: "1.0" });
    expect(readDraft(field, { w: "false" }).value).toEqual({ v: "1.0", w: false });
  });
});

describe("numbers", () => {
  const read = (type: string, typed: string) => readDraft(fieldOf({ type }, "n"), typed);

  it("are those that were typed", () => {
    for (const [typed, n] of [
      ["0.10", 0.1],
      ["-3", -3],
      [" 7 ", 7],
      ["1e3", 1000],
      ["1E21", 1e21],
      ["+.5", 0.5],
      ["1.0", 1],
      ["007", 7],
    ] as const)
      expect(read("number", typed), typed).toEqual({ value: n, faults: {} });
    for (const typed of ["0x10", "1_000", "1,5", "Infinity", "NaN", "", "-", "e3", " "])
      expect(read("number", typed).value, typed).toBeUndefined();
  });

  it("are refused where a digit would be lost", () => {
    for (const typed of [
      "9007199254740993",
      "12345678901234567890",
      "0.12345678901234567890",
      "1e400",
      "1e-400",
    ])
      for (const type of ["number", "integer"])
        expect(read(type, typed).faults.n, typed).toMatch(/more digits/);
    const any = fieldOf({}, "n");
    expect(readDraft(any, '{"id": 9007199254740993}').faults.n).toMatch(/more digits/);
    expect(readDraft(any, '{"id": "9007199254740993", "a\\"1": 2}').value).toEqual({
      id: "9007199254740993",
      'a"1': 2,
    });
  });
});

describe("a list of objects", () => {
  const box = {
    type: "object",
    required: ["weight"],
    properties: { weight: { type: "number" }, label: { type: "string" } },
  };
  const boxes = { type: "array", items: box, minItems: 1, maxItems: 2 };
  const field = fieldOf({ type: "object", required: ["boxes"], properties: { boxes, more: boxes } }, "input");

  it("begins with the items that it must have", () => {
    expect(readDraft(field, undefined).faults).toEqual({ "input.boxes.0.weight": "weight is missing." });
  });

  it("is as long as it may be", () => {
    const some = (n: number) => Array.from({ length: n }, (_, i) => ({ weight: String(i) }));
    expect(readDraft(field, { boxes: some(2), more: [] })).toEqual({
      value: { boxes: [{ weight: 0 }, { weight: 1 }] },
      faults: {},
    });
    expect(readDraft(field, { boxes: some(3) }).faults).toEqual({ "input.boxes": "boxes takes at most 2." });
    const two = fieldOf({ type: "array", items: box, minItems: 2 }, "input");
    expect(readDraft({ ...two, required: false }, some(1)).faults).toEqual({
      input: "input needs at least 2.",
    });
    expect(readDraft({ ...two, required: false }, []).value).toBeUndefined();
  });
});

describe("alternatives", () => {
  const circle = { title: "Circle", required: ["radius"], properties: { radius: { type: "number" } } };
  const square = {
    required: ["kind", "side"],
    properties: { kind: { const: "square" }, side: { type: "integer" } },
  };
  const shape = { type: "object", properties: { note: { type: "string" } }, oneOf: [circle, square] };
  const field = fieldOf(shape, "input");

  it("are named by their titles, or by the member that tells them apart, and share members", () => {
    if (field.shape.is !== "oneOf") throw new Error(field.shape.is);
    expect(field.shape.of.map((f) => f.label)).toEqual(["Circle", "square"]);
    expect(readDraft(field, { chosen: "1", "1": { side: "2", note: "x" }, "0": { radius: "1" } })).toEqual({
      value: { kind: "square", side: 2, note: "x" },
      faults: {},
    });
    expect(draftOf(field, { radius: 1 })).toEqual({ chosen: "0", "0": { radius: "1" } });
  });

  it("have a fault if none is chosen, and at the member that is wrong", () => {
    expect(readDraft(field, undefined).faults).toEqual({ input: "input is missing." });
    expect(readDraft(field, { chosen: "1" }).faults).toEqual({ "input.side": "side is missing." });
    expect(
      readDraft({ ...field, required: false }, { chosen: "", "0": { radius: "1" } }).value,
    ).toBeUndefined();
  });

  it("leave to one alternative what only that one requires", () => {
    const pay = {
      type: "object",
      properties: { card: { type: "string" }, invoice: { type: "string" }, note: { type: "string" } },
      oneOf: [{ required: ["card"] }, { required: ["invoice"] }],
    };
    const of = shapeOf(pay);
    if (of.is !== "oneOf") throw new Error(of.is);
    const names = of.of.map((f) => (f.shape.is === "object" ? f.shape.fields.map((g) => g.name) : []));
    expect(names).toEqual([
      ["card", "note"],
      ["invoice", "note"],
    ]);
    expect(of.of.map((f) => f.label)).toEqual(["card", "invoice"]);
  });

  it("that differ in their type have its name", () => {
    const of = shapeOf({
      anyOf: [{ type: "string" }, { type: "integer" }, { type: ["array"], items: { type: "string" } }],
    });
    if (of.is !== "oneOf") throw new Error(of.is);
    expect(of.of.map((f) => f.label)).toEqual(["Text", "Whole number", "List"]);
    expect(shapeOf({ type: ["string", "integer"] }).is).toBe("oneOf");
  });

  it("of a value or null are that value, which may be left out", () => {
    const anyOf = [{ type: "integer" }, { type: "null" }];
    const maybe = fieldOf({ type: "object", properties: { n: { anyOf } } }, "input");
    expect(maybe.shape).toMatchObject({ fields: [{ shape: { is: "integer" } }] });
    expect(shapeOf({ anyOf }).is).toBe("oneOf");
  });

  it("that contain themselves end in JSON, in a form of bounded size", () => {
    const many = Array.from({ length: 20 }, (_, i) => ({
      required: ["op"],
      properties: {
        op: { const: `op${i}` },
        left: { $ref: "#" },
        right: { $ref: "#" },
        all: { type: "array", items: { $ref: "#" } },
      },
      type: "object",
    }));
    expect(JSON.stringify(fieldOf({ anyOf: many }, "input")).length).toBeLessThan(60_000);
    expect(fieldOf({ anyOf: many }, "input").shape.is).toBe("oneOf");
    const loop = { $defs: { A: { oneOf: [{ $ref: "#/$defs/A" }, { type: "null" }] } }, $ref: "#/$defs/A" };
    expect(hasForm(fieldOf(loop, "input"))).toBe(true);
  });
});
