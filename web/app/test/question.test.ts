import { expect, test } from "vitest";
import type { Question } from "../../client/src/index";
import { choicesOf, detailsText, headingOf, onWorker, parseAnswer, statusText } from "../questions/question";

const base = {
  id: "q",
  agentExecutionId: "x",
  key: "k",
  kind: "approval",
  subject: "bash",
  detailsSha256: "0",
  status: "open",
  version: 1,
  createdAt: "2026-01-01T00:00:00Z",
} as Question;

test("headings and details of a tool call", () => {
  expect(headingOf(base)).toBe("May bash run?");
  expect(headingOf({ ...base, kind: "choice", subject: "" })).toBe("Choose");
  expect(detailsText(base)).toBeNull();
  expect(detailsText({ ...base, details: { command: "ls" } })).toBe("ls");
  expect(detailsText({ ...base, details: { command: "ls", timeout: 5 } })).toContain("timeout");
  expect(detailsText({ ...base, detailsBytes: 300_000 })).toContain("300000");
  expect(choicesOf(base)).toEqual([]);
});

test.each([
  ["withdrawn", undefined, "Withdrawn: no answer is needed any more."],
  ["expired", undefined, "Expired without an answer."],
  ["expired", { verdict: "deny", by: "expiry" }, "Expired: Denied."],
  ["answered", { verdict: "approve", by: "ann", reason: "fine" }, "Approved by ann: fine"],
  ["answered", { verdict: "deny", by: "ann", content: "worker" }, "Denied by ann: the rest is on the worker"],
])("a question that is %s", (status, answer, want) => {
  expect(statusText({ ...base, status, answer } as Question)).toBe(want);
});

test("a question whose content is on a worker", () => {
  expect(onWorker(base)).toBe(false);
  const away = { ...base, content: "worker", contentBytes: 70, contentSha256: "0" } as Question;
  expect(onWorker(away)).toBe(true);
  expect(detailsText(away)).toBeNull();
  expect(headingOf(away)).toBe("May bash run?");
});

test("an answer is text or JSON as the schema says", () => {
  expect(parseAnswer("yes", { type: "string" })).toEqual({ value: "yes", problem: null });
  expect(parseAnswer('{"n": 1}', { type: "object" })).toEqual({ value: { n: 1 }, problem: null });
  expect(parseAnswer("yes", { type: "object" }).problem).not.toBeNull();
});
