import { expect, test } from "vitest";
import { PerdureClient } from "../src/index";

/** Answers each request with the next of the responses, and records the requests. */
function answering(...responses: unknown[]) {
  const asked: { line: string; key: string | null; body: unknown }[] = [];
  const answer = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const url = new URL(String(input));
    asked.push({
      line: `${init?.method} ${url.pathname.replace("/api/orgs/default", "")}${url.search}`,
      key: new Headers(init?.headers).get("Idempotency-Key"),
      body: init?.body ? JSON.parse(String(init.body)) : undefined,
    });
    return Response.json(responses.shift() ?? {});
  };
  const client = new PerdureClient({
    baseUrl: "http://127.0.0.1:1",
    key: "k",
    fetch: answer as typeof fetch,
  });
  return { asked, client };
}

test("bulk actions ask what the API says", async () => {
  const { asked, client } = answering();
  const filter = { status: ["WAITING"], metadata: { team: "a" } };
  await client.bulkActions.count({ action: "retry", filter, reason: "not sent" });
  await client.bulkActions.start({ action: "cancel", filter: {}, reason: "r" }, { idempotencyKey: "k" });
  await client.bulkActions.get("a/1");
  const path = "/agent-executions/actions";
  expect(asked).toEqual([
    { line: `POST ${path}/count`, key: null, body: { action: "retry", filter } },
    { line: `POST ${path}`, key: "k", body: { action: "cancel", filter: {}, reason: "r" } },
    { line: `GET ${path}/a%2F1`, key: null, body: undefined },
  ]);
});

test("a model call is read with all pages of its messages", async () => {
  const { asked, client } = answering(
    { messages: [1], nextCursor: "1" },
    { messages: [2], nextCursor: "2" },
    { messages: [3], nextCursor: null },
  );
  const call = await client.modelCalls.get("x", "c");
  expect(call).toEqual({ messages: [1, 2, 3], nextCursor: null });
  await client.modelCalls.request("x", "c", "gemini");
  await client.modelCalls.request("x", "c");
  const path = "/agent-executions/x/calls/c";
  expect(asked.map((a) => a.line)).toEqual([
    `GET ${path}?limit=1000`,
    `GET ${path}?limit=1000&cursor=1`,
    `GET ${path}?limit=1000&cursor=2`,
    `GET ${path}/request?as=gemini`,
    `GET ${path}/request`,
  ]);
});
