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
  images: [],
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
  expect(new Outbox("o", "r1", s).read()).toEqual([{ id: "b", text: "text b", images: [] }]);
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

test("images are kept, and what the browser has no room for is left out alone", () => {
  const image = (size: number) => ({ type: "image", mimeType: "image/png", data: "x".repeat(size) }) as const;
  const s = storage();
  const small = {
    ...s,
    setItem: (k: string, v: string) => {
      if (v.length > 1_000) throw new Error("the quota is exceeded");
      s.setItem(k, v);
    },
  };
  const box = new Outbox("o", "r", small);
  box.write([
    { ...prompt("a", "pending"), images: [image(10)] },
    { ...prompt("b", "pending"), images: [image(5_000)] },
    prompt("c", "pending"),
  ]);
  expect(box.read()).toEqual([
    { id: "a", text: "text a", images: [image(10)] },
    { id: "c", text: "text c", images: [] },
  ]);
});
