import { expect, test } from "vitest";
import { fileText, foldView, HeldLog } from "../../client/src/index";
import { LogWriter } from "../../client/test/log";

test.each([
  [{ type: "image", url: "https://example.com/a.png" }, "[image https://example.com/a.png]"],
  [{ type: "file", data: "aGk=", mimeType: "text/plain" }, "[file text/plain]"],
  [
    { type: "file", url: "https://example.com/a.pdf", filename: "a.pdf" },
    "[file a.pdf https://example.com/a.pdf]",
  ],
  [{ type: "file", fileId: "f1" }, "[file f1]"],
] as const)("%j is named, and not fetched", (part, text) => {
  expect(fileText(part)).toBe(text);
  const w = new LogWriter();
  w.event("agent.created", { status: "PENDING" });
  w.event("entry.appended", {
    entryId: "e1",
    entryType: "message",
    role: "user",
    content: { parts: [part] },
  });
  const held = new HeldLog();
  for (const e of w.log) held.apply(e);
  expect(foldView(held.messages).messages[0]?.parts).toEqual([{ type: "file", text }]);
});
