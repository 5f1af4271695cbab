import { expect, test } from "vitest";
import type { MessageView, Prompt } from "../../client/src/index";
import { found, matchAt, numberOf } from "../fold/find";
import type { Row } from "../fold/rows";

const message = (id: string, parts: unknown[]): Row => ({
  id,
  kind: "message",
  of: { id, parts } as unknown as MessageView,
  unseen: false,
});

const call = {
  type: "toolCall",
  name: "bash",
  rawArguments: '{"command":"make"}',
  terminal: [{ text: "Linking" }],
  result: { parts: [{ type: "text", text: "all well" }] },
};

test("a text is found in texts, calls, their output and their results, in any case", () => {
  const rows: Row[] = [
    message("a", [{ type: "text", text: "Make it" }]),
    message("b", [{ type: "image", data: "make" }, call]),
    {
      id: "c",
      kind: "sent",
      of: { id: "c", text: "MAKE haste", images: [], state: "pending" } as unknown as Prompt,
    },
  ];
  const ids = (wanted: string) => found(rows, wanted).rows.map((r) => r.id);
  expect(ids("make")).toEqual(["a", "b", "c"]);
  expect(ids("LINKING"), "the result takes the place of the output").toEqual([]);
  expect(ids("all well")).toEqual(["b"]);
  expect(ids(" haste ")).toEqual(["c"]);
  expect(ids("  ")).toEqual([]);
  expect(ids("nothing")).toEqual([]);
  const running = { ...call, result: null, terminal: [{ text: "Lin" }, { text: "king" }] };
  expect(found([message("d", [running])], "linking").total).toBe(1);
});

test("matches are counted, not rows, and are gone through one by one", () => {
  const rows = [
    message("a", [{ type: "text", text: "aaa b" }]),
    message("b", [{ type: "text", text: "none" }]),
    message("c", [
      { type: "text", text: "A cat" },
      { type: "text", text: "a" },
    ]),
  ];
  const all = found(rows, "a");
  expect(all.total).toBe(6);
  const each = Array.from({ length: 6 }, (_, i) => matchAt(all, i));
  expect(each.map((m) => `${m?.id}${m?.n}`)).toEqual(["a0", "a1", "a2", "c0", "c1", "c2"]);
  expect(each.map((m) => m && numberOf(all, m))).toEqual([0, 1, 2, 3, 4, 5]);
  expect(matchAt(all, 6)).toBeNull();
  expect(numberOf(all, { id: "c", n: 3 })).toBe(-1);
  expect(numberOf(all, { id: "b", n: 0 })).toBe(-1);
  expect(found(rows, "aa").total, "matches do not overlap").toBe(1);
  expect(matchAt(found(rows, "zebra"), 0)).toBeNull();
});
