import { expect, test } from "vitest";
import type { Prompt } from "../../client/src/index";
import { Outbox } from "../api/outbox";

function storage() {
  const kept = new Map<string, string>();
  return {
    kept,
    getItem: (k: string) => kept.get(k) ?? null,
    setItem: (k: string, v: string) => void kept.set(k, v),
    removeItem: (k: string) => void kept.delete(k),
  };
}

const prompt = (id: string, state: Prompt["state"]): Prompt => ({
  id,
  text: `text ${id}`,
  state,
  error: null,
});

test("only what is not acknowledged is kept, with its id, and each run has its own", () => {
  const s = storage();
  new Outbox("o", "r1", s).write([
    prompt("a", "acknowledged"),
    prompt("b", "pending"),
    prompt("c", "refused"),
  ]);
  expect(new Outbox("o", "r1", s).read()).toEqual([{ id: "b", text: "text b" }]);
  expect(new Outbox("o", "r2", s).read()).toEqual([]);
  new Outbox("o", "r1", s).write([]);
  expect(s.kept.size).toBe(0);
});

test("what is kept and makes no sense is no message", () => {
  const s = storage();
  for (const bad of ["", "no json", "{}", '[1, null, {"id": 1, "text": "x"}]']) {
    s.setItem("perdure.outbox.o.r", bad);
    expect(new Outbox("o", "r", s).read()).toEqual([]);
  }
});
