import type { ApprovalRule, Approvals } from "../../client/src/index";

/** The rules of one policy, in their order. */
export interface Policy {
  title: string;
  rules: readonly RuleWords[];
}

/** A rule about tool calls in words. */
export interface RuleWords {
  tools: readonly string[];
  outcome: "runs" | "needs an approval" | "is refused";
  terms: readonly string[];
  reason: string | null;
  /** The schema of the calls that the rule is about. */
  when: unknown;
}

/** Returns the policies of a run in words: that of its definition, and that of its start. */
export function policiesOf({ definition, start }: Approvals): Policy[] {
  const both = Boolean(definition?.length && start?.length);
  const of = (title: string, rules: readonly ApprovalRule[]) => ({ title, rules: rules.map(wordsOf) });
  return [
    ...(definition?.length ? [of(both ? "By the definition" : "", definition)] : []),
    ...(start?.length ? [of(both ? "By the start" : "", start)] : []),
  ];
}

function wordsOf(r: ApprovalRule, at: number): RuleWords {
  const tools = (r.tools ?? []).map((t) => (t === "*" ? (at === 0 ? "everything" : "everything else") : t));
  const outcomes = { allow: "runs", ask: "needs an approval", deny: "is refused" } as const;
  return {
    tools,
    outcome: outcomes[r.then as keyof typeof outcomes] ?? "is refused",
    terms: termsOf(r),
    reason: r.reason || null,
    when: r.when,
  };
}

function termsOf(r: ApprovalRule): string[] {
  const asked = r.then === "ask";
  const terms: [boolean, string][] = [
    [Boolean(r.requires), `only on a worker that is ${r.requires}`],
    [asked && (r.needed ?? 1) > 1, `by ${r.needed} people`],
    [asked && Boolean(r.by?.length), `by ${r.by?.join(", ")}`],
    [asked && Boolean(r.notAsker), "not by who started or steers the run"],
    [asked && r.edit === "client", "clients may change the arguments"],
    [asked && r.edit === "approver", "approvers may change the arguments"],
    [asked && r.grants === false, "each time"],
    [asked && Boolean(r.expires), `within ${r.expires}`],
  ];
  return terms.flatMap(([holds, words]) => (holds ? [words] : []));
}
