import { expect, test } from "vitest";
import type { MessageView, Prompt } from "../../client/src/index";
import { found } from "../fold/find";
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
  expect(found(rows, "make")).toEqual(["a", "b", "c"]);
  expect(found(rows, "LINKING")).toEqual(["b"]);
  expect(found(rows, "all well")).toEqual(["b"]);
  expect(found(rows, " haste ")).toEqual(["c"]);
  expect(found(rows, "  ")).toEqual([]);
  expect(found(rows, "nothing")).toEqual([]);
});
