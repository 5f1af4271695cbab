import { expect, test } from "vitest";
import { recordsNotice } from "../fold/records";

test.each([
  ["of fewer records", 999, false, null],
  [
    "of many",
    1000,
    false,
    "1,000 steps and tasks since the newest checkpoint: each resume reads all of them.",
  ],
  ["of a run that has ended", 5000, true, null],
  ["of a server that does not count", undefined, false, null],
])("the notice %s", (_, records, ended, want) => {
  expect(recordsNotice(records, ended)).toBe(want);
});
