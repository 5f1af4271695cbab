import type { Question, Remember } from "../../client/src/index";
import { visible } from "../text/visible";

/** Returns the heading of a question. */
export function headingOf(q: Question): string {
  const subject = visible(q.subject ?? "");
  if (q.kind === "approval") return subject ? `May ${subject} run?` : "Approve?";
  return subject || { input: "An answer is needed", choice: "Choose" }[q.kind] || q.kind;
}

/** Returns the choices of a question. */
export const choicesOf = (q: Question) => q.choices ?? [];

/**
 * Returns the text of what is asked about, or null if there is nothing. The command of bash is
 * shown as it is typed; what is approved are the arguments that contain it. Characters that could
 * deceive the reader are written out.
 */
export function detailsText(q: Question): string | null {
  if (onWorker(q)) return null;
  if (q.details === undefined) {
    return q.detailsBytes ? `${q.detailsBytes} bytes; perdure answer shows them` : null;
  }
  return visible(commandOf(q) ?? JSON.stringify(q.details, null, 2));
}

/** Reports whether the text of what is asked about is JSON. */
export const isJSON = (q: Question) => q.details !== undefined && commandOf(q) === null;

function commandOf(q: Question): string | null {
  const one = q.details as Record<string, unknown> | null;
  const alone =
    q.subject === "bash" && one && typeof one.command === "string" && Object.keys(one).length === 1;
  return alone ? (one.command as string) : null;
}

/**
 * Reports whether the question is shown without its content, because the worker of a LOCAL run is not
 * connected. Such a question can only be denied.
 */
export const onWorker = (q: Question) => q.content === "worker";

/** Reports whether the approval of the question can be remembered. */
export const grantable = (q: Question) =>
  q.kind === "approval" && Boolean(q.subject) && !q.noGrants && !q.notAsker;

/** Returns what an approval of the question can be remembered for, with its name in the page. */
export function rememberChoices(q: Question, admin: boolean): [name: string, remember: Remember | null][] {
  const choices: [string, Remember | null][] = [
    ["Ask each time", null],
    ["Remember this call, in this run", { scope: "run", match: "exact" }],
    [`Remember every ${q.subject}, in this run`, { scope: "run", match: "tool" }],
  ];
  if (admin) {
    choices.push(
      ["Remember this call, for the agent", { scope: "definition", match: "exact" }],
      [`Remember every ${q.subject}, for the agent`, { scope: "definition", match: "tool" }],
    );
  }
  return choices;
}

/** Who decided a question, if that is not a key. */
const voters: Record<string, string> = {
  grant: "a remembered approval",
  token: "the data directory's token",
};

/** Returns how a question ended. */
export function statusText(q: Question): string {
  const by = q.answer ? ` by ${voters[q.answer.by] ?? q.answer.by}` : "";
  const reason = q.answer?.content === "worker" ? "the rest is on the worker" : q.answer?.reason;
  const why = reason ? `: ${reason}` : "";
  switch (q.status) {
    case "withdrawn":
      return "Withdrawn: no answer is needed any more.";
    case "expired":
      return `Expired${q.answer ? `: ${verdictText(q.answer.verdict)}` : " without an answer"}.`;
    case "answered":
      return `${verdictText(q.answer?.verdict ?? "answer")}${by}${why}`;
    default:
      return "Open";
  }
}

function verdictText(verdict: string): string {
  return { approve: "Approved", deny: "Denied", answer: "Answered" }[verdict] ?? verdict;
}

/**
 * Returns the value that a text means. If the schema asks for a string, it is the text itself,
 * otherwise JSON.
 */
export function parseAnswer(text: string, schema: unknown): { value: unknown; problem: string | null } {
  const type = (schema as { type?: unknown } | null)?.type;
  if (type === "string") return { value: text, problem: null };
  try {
    return { value: JSON.parse(text), problem: null };
  } catch {
    return { value: undefined, problem: "This is not JSON. A text stands in quotation marks." };
  }
}
