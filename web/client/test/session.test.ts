import { expect, test } from "vitest";
import { PerdureClient } from "../src/client";
import type { WebSocketLike } from "../src/socket";

/** Answers every request, and records the headers of each. */
function listening() {
  const asked: { path: string; headers: Record<string, string> }[] = [];
  const answer = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const path = new URL(String(input)).pathname;
    asked.push({ path, headers: (init?.headers ?? {}) as Record<string, string> });
    if (path === "/api/login") return Response.json({ org: "default", role: "client", session: "half" });
    if (path === "/api/logout") return new Response(null, { status: 204 });
    if (path.endsWith("/stream/consolidated")) return new Response(null, { status: 204 });
    return Response.json({ items: [], nextCursor: null });
  };
  return { asked, fetch: answer as typeof fetch };
}

/** Returns the arguments with which the client opens a WebSocket. */
function opened(client: PerdureClient): { headers: Record<string, string>; protocols: string[] } {
  let seen = { headers: {}, protocols: [] as string[] };
  const following = client.executions.connect("x", {
    open: (_, headers, protocols) => {
      seen = { headers, protocols };
      return { send() {}, close() {} } as unknown as WebSocketLike;
    },
  });
  following.stop();
  return seen;
}

const baseUrl = "http://127.0.0.1:1";

test("after a sign-in every request, stream and socket carries the page's half, until the sign-out", async () => {
  const { asked, fetch } = listening();
  const client = new PerdureClient({ baseUrl, fetch });
  await client.login("key");
  await client.sessions.list();
  for await (const _ of client.executions.stream("x")) throw new Error("there is no event");
  expect(asked.slice(1).map((a) => a.headers["Perdure-Session"])).toEqual(["half", "half"]);
  expect(opened(client)).toEqual({
    headers: { "Perdure-Session": "half" },
    protocols: ["perdure", "perdure.session.half"],
  });
  await client.logout();
  expect(asked.at(-1)?.headers["Perdure-Session"]).toBe("half");
  await client.executions.list();
  expect(asked.at(-1)?.headers).not.toHaveProperty("Perdure-Session");
  expect(opened(client)).toEqual({ headers: {}, protocols: [] });
});

test("a page's own half is asked for before each request", async () => {
  const { asked, fetch } = listening();
  let half: string | undefined = "first";
  const client = new PerdureClient({ baseUrl, fetch, session: () => half });
  await client.executions.list();
  half = "second";
  await client.executions.list();
  expect(asked.map((a) => a.headers["Perdure-Session"])).toEqual(["first", "second"]);
});

test("with a key nothing of a session is sent", async () => {
  const { asked, fetch } = listening();
  const client = new PerdureClient({ baseUrl, fetch, key: "k", session: () => "half" });
  await client.executions.list();
  for await (const _ of client.executions.stream("x")) throw new Error("there is no event");
  for (const { headers } of asked) {
    expect(headers.Authorization).toBe("Bearer k");
    expect(headers).not.toHaveProperty("Perdure-Session");
  }
  expect(opened(client)).toEqual({ headers: { Authorization: "Bearer k" }, protocols: [] });
});
