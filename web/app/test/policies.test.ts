import { expect, test } from "vitest";
import type { ApprovalRule } from "../../client/src/index";
import { policiesOf } from "../fold/policies";

// biome-ignore-start lint/suspicious/noThenProperty: the rule has a member of this name
const ask: ApprovalRule = { tools: ["bash", "edit-*"], then: "ask" };
const rest: ApprovalRule = { tools: ["*"], then: "allow", requires: "confined" };

test("rules are told in words, with their terms", () => {
  const strict: ApprovalRule = {
    tools: ["refund"],
    then: "ask",
    needed: 2,
    by: ["approver", "key:7"],
    notAsker: true,
    edit: "client",
    grants: false,
    expires: "24h",
    reason: "It costs money.",
    when: { type: "object" },
  };
  const [policy, ...more] = policiesOf({
    start: [ask, strict, { tools: ["rm"], then: "deny", needed: 2 }, rest],
  });
  expect(more).toEqual([]);
  expect(policy?.title).toBe("");
  expect(policy?.rules.map((r) => `${r.tools.join(", ")} ${r.outcome}: ${r.terms.join("; ")}`)).toEqual([
    "bash, edit-* needs an approval: ",
    "refund needs an approval: by 2 people; by approver, key:7; not by who started or steers the run; " +
      "clients may change the arguments; each time; within 24h",
    "rm is refused: ",
    "everything else runs: only on a worker that is confined",
  ]);
  expect(policy?.rules[1]?.reason).toBe("It costs money.");
  expect(policy?.rules[1]?.when).toEqual({ type: "object" });
});

test("the policies of definition and start are told apart", () => {
  const both = policiesOf({ definition: [ask], start: [{ tools: ["*"], then: "ask" }] });
  expect(both.map((p) => p.title)).toEqual(["By the definition", "By the start"]);
  expect(both[1]?.rules[0]?.tools).toEqual(["everything"]);
  expect(policiesOf({ definition: [ask], start: null }).map((p) => p.title)).toEqual([""]);
  expect(policiesOf({})).toEqual([]);
});
// biome-ignore-end lint/suspicious/noThenProperty: the rule has a member of this name
