import { describe, expect, it } from "vitest";
import { type Draft, faultsAt, fieldOf, hasForm, readDraft } from "../schema/form";

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
  const filled = { days: "3", team: "red", to: { name: "ann" } };

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
    const objects = { type: "array", items: { type: "object", properties: { a: { type: "string" } } } };
    expect(fieldOf(objects, "input").shape.is).toBe("json");
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
      "input.share": "share must be a number.",
      "input.other": "other is not JSON. A text stands in quotation marks.",
    });
    expect(read({ ...filled, days: "1.5" }).faults).toEqual({
      "input.days": "How long must be a whole number.",
    });
    const list = fieldOf({ type: "array", items: { type: "integer" } }, "input");
    expect(readDraft(list, ["1", "x"]).faults).toEqual({ "input.1": "input 2 must be a whole number." });
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
