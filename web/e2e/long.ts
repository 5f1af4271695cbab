import type { Dev } from "../client/e2e/server";

/**
 * The number of questions in the long conversation. Each question has a call, its result and an
 * answer.
 */
export const questions = 2_500;

/**
 * Creates a run with 4 × `questions` entries. A client of the Responses API brings the
 * conversation in one request, as from another system. The model has replied "Ready." to it,
 * and will reply `answers` next. Returns the run's id.
 */
export async function longRun(dev: Dev, answers: string[]): Promise<string> {
  const gone = "turn\n  text gone\n\n".repeat(2 * questions);
  const next = answers.map((text) => `turn\n  text <<END\n${text}\n  END\n`).join("\n");
  dev.script("long", `pace 4ms\n\n${gone}turn\n  text Ready.\n\n${next}`);
  const input: object[] = [];
  for (let i = 0; i < questions; i++) input.push(...exchange(i));
  input.push({ type: "message", role: "user", content: "And now?" });
  const answer = await fetch(`${dev.url}/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${dev.key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "scripted/long", input }),
  });
  const response = (await answer.json()) as { status: string };
  if (response.status !== "completed")
    throw new Error(`${answer.status}: ${JSON.stringify(response).slice(0, 500)}`);
  const [run] = (await dev.client().executions.list({ q: "Question 0:" })).items;
  if (!run) throw new Error("the run is not in the list");
  return run.id;
}

function exchange(i: number): object[] {
  const call_id = `call_${i}`;
  const answer = `### Answer ${i}

Part ${i} **works** like this:

- it is \`wound\`
- it turns

\`\`\`go
func part${i}() {}
\`\`\`
`;
  return [
    { type: "message", role: "user", content: `Question ${i}: how does part ${i} of the machine work?` },
    { type: "function_call", call_id, name: "grep", arguments: JSON.stringify({ pattern: `part${i}` }) },
    { type: "function_call_output", call_id, output: `machine.go:${i}: func part${i}() {}` },
    { type: "message", role: "assistant", content: answer },
  ];
}

/** Returns a long answer in markdown: prose, lists, tables and code. */
export function longAnswer(sections: number): string {
  const section = (i: number) => `## Section ${i}

The quick brown fox jumps over a **lazy dog** while it rains in the \`hills\` of the north, and
nobody sees it but the one who writes it down, see [the notes](https://example.com/${i}).

- one, which is *short*
- two, which has \`code\` in it

| part | count | what it does |
|---|---|---|
| wheel | ${i} | it turns |
| spring | 2 | it is wound |

\`\`\`go
func section${i}(w io.Writer) error {
	_, err := fmt.Fprintln(w, "section", ${i})
	return err
}
\`\`\`
`;
  return `${Array.from({ length: sections }, (_, i) => section(i)).join("\n")}\nThe end of it.`;
}
