import { expect, test } from "vitest";
import type { Clock } from "../src/backoff";
import { PerdureClient } from "../src/client";
import type { PerdureError } from "../src/errors";

/**
 * Returns a client whose server has no worker for the given number of requests, and the
 * client's delays.
 */
function before(refusals: number, field = "kind") {
  const pauses: number[] = [];
  const clock: Clock = {
    sleep: async (ms) => {
      pauses.push(ms);
    },
    random: () => 0.5,
  };
  let asked = 0;
  let waited = 0;
  const answer = async () => {
    asked++;
    if (asked > refusals) return Response.json({ id: "x" }, { status: 201 });
    const errors = field ? [{ location: field, message: "no worker" }] : [];
    return new Response(JSON.stringify({ code: "unavailable", status: 503, detail: "no worker", errors }), {
      status: 503,
      headers: { "Content-Type": "application/problem+json", "Retry-After": "1" },
    });
  };
  const client = new PerdureClient({ baseUrl: "http://server", fetch: answer });
  const create = () => client.executions.create({ userPrompt: "x" }, { clock, onWait: () => waited++ });
  return { create, pauses, asked: () => asked, waited: () => waited };
}

test("a start waits for the first worker and says so once", async () => {
  const c = before(3);
  expect((await c.create()).id).toBe("x");
  expect(c.pauses).toEqual([1000, 1000, 1000]);
  expect(c.waited()).toBe(1);
});

test("it waits for ten seconds at most", async () => {
  const c = before(100);
  await expect(c.create()).rejects.toMatchObject({ code: "unavailable" } satisfies Partial<PerdureError>);
  expect(c.pauses.length).toBe(10);
});

test("another refusal as unavailable is not repeated", async () => {
  const c = before(1, "");
  await expect(c.create()).rejects.toMatchObject({ code: "unavailable" });
  expect(c.asked()).toBe(1);
});
