import { expect, test } from "vitest";
import type { Question } from "../../client/src/index";
import { detailsText, headingOf } from "../questions/question";
import { ansi } from "../text/ansi";
import { visible } from "../text/visible";

test.each([
  ["plain\n\ttext ä é 漢字 عربي", "plain\n\ttext ä é 漢字 عربي"],
  ["echo safe \u202e# mr; tac\u202c zero\u200bwidth", "echo safe \\u202e# mr; tac\\u202c zero\\u200bwidth"],
  ["a\u0007b\u009fc\u2028d\r", "a\\u0007b\\u009fc\\u2028d\\u000d"],
  ["r\u200dm", "r\\u200dm"],
  ["\u{1f469}\u200d\u{1f4bb} \u2764\ufe0f", "\u{1f469}\u200d\u{1f4bb} \u2764\ufe0f"],
  ["\u{e0041}", "\\udb40\\udc41"],
])("%j is shown as %j", (text, shown) => {
  expect(visible(text)).toBe(shown);
});

test("what is asked about and its heading hide nothing", () => {
  const q = {
    kind: "approval",
    subject: "ba\u200bsh",
    details: { command: "echo \u202ex" },
  } as unknown as Question;
  expect(headingOf(q)).toBe("May ba\\u200bsh run?");
  expect(detailsText(q)).toContain("echo \\u202ex");
  expect(detailsText({ ...q, subject: "bash" } as Question)).toBe("echo \\u202ex");
});

test("the output of a tool hides nothing and keeps its colours", () => {
  expect(ansi("\x1b[31ma\u202eb\x1b[0m")).toMatchObject([{ text: "a\\u202eb", fg: 1 }]);
});
