import { expect, test } from "vitest";
import type { Usage } from "../../client/src/index";
import { spent } from "../fold/usage";

const usage = (cost: number | null, calls = 1): Usage => ({
  input: 1,
  output: 1,
  reasoning: null,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 2,
  calls,
  cost,
});

test.each([
  ["with all prices", usage(0.5, 2), { a: usage(0.25), b: usage(0.25) }, "$0.500"],
  ["with a model that has no price", usage(0.25, 2), { a: usage(0.25), b: usage(null) }, "≥ $0.250"],
  ["with a model that was not called", usage(0.25), { a: usage(0.25), b: usage(null, 0) }, "$0.250"],
  ["without prices", usage(null), { a: usage(null) }, "–"],
  ["of a run that costs nothing", usage(0), { a: usage(0) }, "$0.00"],
])("what a run has spent %s", (_, total, byModel, want) => {
  expect(spent(total, byModel)).toBe(want);
});
