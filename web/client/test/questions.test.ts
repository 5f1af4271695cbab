import { expect, test } from "vitest";
import { PerdureClient, PerdureError, type QuestionEvent } from "../src/index";

const baseUrl = "http://127.0.0.1:1";

/** Answers each request with the next of the responses, and records the requests. */
function answering(...responses: (() => Response)[]) {
  const asked: { line: string; body: unknown }[] = [];
  const answer = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const url = new URL(String(input));
    asked.push({
      line: `${init?.method} ${url.pathname.replace("/api/orgs/default", "")}${url.search}`,
      body: init?.body ? JSON.parse(String(init.body)) : undefined,
    });
    return (responses.shift() ?? (() => Response.json({})))();
  };
  return { asked, client: new PerdureClient({ baseUrl, key: "k", fetch: answer as typeof fetch }) };
}

const events = (text: string) => () =>
  new Response(text, { headers: { "Content-Type": "text/event-stream" } });

test("the calls ask what the API says", async () => {
  const { asked, client } = answering();
  await client.questions.list({ status: ["open", "expired"], mine: true, limit: 2 });
  await client.questions.get("q/1");
  await client.questions.details("q");
  await client.questions.answer("q", { verdict: "approve", detailsSha256: "12", answerId: "a" });
  await client.questions.answer("q", { verdict: "answer", answer: null });
  await client.questions.grants({ agentExecutionId: "x", limit: 3 });
  await client.questions.revokeGrant("g");
  await client.questions.createLink("q", { keyId: "k", expires: "2h" });
  await client.questions.links("q");
  await client.questions.revokeLinks("q", { keyId: "k" });
  expect(asked.map((a) => a.line)).toEqual([
    "GET /questions?status=open&status=expired&mine=true&limit=2",
    "GET /questions/q%2F1",
    "GET /questions/q/details",
    "POST /questions/q/answer",
    "POST /questions/q/answer",
    "GET /approval-grants?agentExecutionId=x&limit=3",
    "DELETE /approval-grants/g",
    "POST /questions/q/links",
    "GET /questions/q/links",
    "DELETE /questions/q/links?keyId=k",
  ]);
  expect(asked[3]?.body).toEqual({ answerId: "a", verdict: "approve", detailsSha256: "12" });
  expect(asked[4]?.body).toEqual({
    answerId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    verdict: "answer",
    answer: null,
  });
});

test("an answer that comes too late has the question with its decision", async () => {
  const problem = {
    code: "question_decided",
    detail: "decided",
    errors: [],
    question: { id: "q", status: "answered" },
  };
  const { client } = answering(
    () =>
      new Response(JSON.stringify(problem), {
        status: 409,
        headers: { "Content-Type": "application/problem+json" },
      }),
  );
  const late = await client.questions.answer("q", { verdict: "deny" }).catch((e: unknown) => e);
  expect(late).toBeInstanceOf(PerdureError);
  expect(late).toMatchObject({
    code: "question_decided",
    question: { status: "answered" },
    retryable: false,
  });
});

test("the stream begins again after an interruption, and ends with the caller", async () => {
  const opening = 'event: questions\ndata: {"items":[],"open":0}\n\n';
  const { asked, client } = answering(
    events(
      `${opening}event: ping\ndata: {}\n\nevent: later\ndata: {}\n\nevent: question\ndata: {"id":"q"}\n\nevent: question\ndata: {"id`,
    ),
    events(opening),
  );
  const clock = { sleep: async () => undefined, random: () => 0 };
  const got: QuestionEvent["event"][] = [];
  for await (const e of client.questions.stream({ clock })) {
    got.push(e.event);
    if (got.length === 3) break;
  }
  expect(got).toEqual(["questions", "question", "questions"]);
  expect(asked.map((a) => a.line)).toEqual(["GET /questions/stream", "GET /questions/stream"]);
});

test("a refused stream ends with the error", async () => {
  const { client } = answering(() => Response.json({}, { status: 403 }));
  const reading = (async () => {
    for await (const _ of client.questions.stream()) throw new Error("there is no event");
  })();
  await expect(reading).rejects.toMatchObject({ code: "permission_denied" });
});
