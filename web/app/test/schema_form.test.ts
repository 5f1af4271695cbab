import { describe, expect, it } from "vitest";
import { fieldsOf, filledIn } from "../questions/form";

const schema = {
  type: "object",
  required: ["days", "team"],
  properties: {
    note: { type: "string", description: "for the log" },
    days: { type: "integer", title: "How long" },
    team: { type: "string", enum: ["red", "blue"] },
    sure: { type: "boolean" },
    share: { type: "number" },
  },
};

describe("a form by a schema", () => {
  const fields = fieldsOf(schema);

  it("has a field for each plain property, the required ones first", () => {
    expect(fields?.map((f) => `${f.label}:${f.type}:${f.required}`)).toEqual([
      "How long:integer:true",
      "team:string:true",
      "note:string:false",
      "sure:boolean:false",
      "share:number:false",
    ]);
  });

  it("leaves schemas that it cannot show to JSON", () => {
    for (const other of [
      true,
      { type: "string" },
      { type: "object" },
      { type: "object", properties: {} },
      { type: "object", properties: { a: { type: "array" } } },
      { type: "object", properties: { a: { type: "integer", enum: [1, 2] } } },
      { type: "object", properties: { a: { oneOf: [] } } },
    ]) {
      expect(fieldsOf(other)).toBeNull();
    }
  });

  it("returns what was typed, without empty optional fields", () => {
    const all = fields ?? [];
    expect(filledIn(all, { days: "3", team: "red" })).toEqual({
      value: { days: 3, team: "red" },
      problem: null,
    });
    expect(filledIn(all, { days: "3", team: "red", sure: "false", share: "0.5", note: "x" }).value).toEqual({
      days: 3,
      team: "red",
      sure: false,
      share: 0.5,
      note: "x",
    });
    expect(filledIn(all, { team: "red" }).problem).toBe("How long is missing.");
    expect(filledIn(all, { days: "1.5", team: "red" }).problem).toBe("How long must be a whole number.");
    expect(filledIn(all, { days: "1" }).problem).toBe("Choose team.");
    expect(filledIn(all, { days: "1", team: "red", share: "much" }).problem).toBe("share must be a number.");
  });
});
