import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "@playwright/test";
import { expect, RunView, start, startDev, test } from "./stand";

test.use({ allowed: [/401|403|WebSocket connection to/] });

/** Signs in with the address that `perdure dev` prints to a terminal. */
async function enter(page: Page, dev: { url: string; key: string }): Promise<void> {
  await page.goto(`${dev.url}/?token=${encodeURIComponent(dev.key)}`);
  await expect(page.getByRole("heading", { name: "Runs", exact: true })).toBeVisible();
}

const signedOut = (page: Page) => expect(page.getByLabel("API key")).toBeVisible();

/**
 * Returns every request that needs a key: those of the server's own description, and some that
 * it does not contain.
 */
async function guarded(url: string): Promise<{ method: string; path: string }[]> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { security?: object[] }>>;
  };
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.security?.length)
      .map(([method]) => ({ method: method.toUpperCase(), path })),
  );
  expect(described.length).toBeGreaterThan(30);
  const beside = [
    "GET /api/orgs/{org}/agent-executions/{id}/ws",
    "GET /v1/models",
    "GET /v1/models/x",
    "POST /v1/responses",
    "GET /v1/responses/resp_x",
    "GET /v1/stream/executions/{id}",
    "PUT /v1/stream/x",
    "POST /v1/stream/x",
    "HEAD /v1/stream/x",
    "DELETE /v1/stream/x",
  ].map((r) => ({ method: r.split(" ")[0] as string, path: r.split(" ")[1] as string }));
  return [...described, ...beside];
}

function statusOf(url: string, method: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const r = request(url, { method, headers }, (answer) => {
      answer.destroy();
      resolve(answer.statusCode ?? 0);
    });
    r.on("error", reject);
    r.on("upgrade", (_, socket) => {
      socket.destroy();
      resolve(101);
    });
    r.end();
  });
}

test("what a server on another port is sent opens nothing", async ({ browser, dev }) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await enter(page, dev);
  const x = await start(dev.client(), "short", "of this server alone");

  const heard: string[] = [];
  const thief = createServer((asked, answer) => {
    heard.push(asked.headers.cookie ?? "");
    answer.setHeader("Content-Type", "text/html");
    answer.end("<title>another server</title>");
  });
  await new Promise<void>((resolve) => thief.listen(0, "127.0.0.1", resolve));
  try {
    const other = await context.newPage();
    await other.goto(`http://127.0.0.1:${(thief.address() as AddressInfo).port}/`);
    const cookie = heard[0] ?? "";
    expect(cookie).toContain(`perdure_${dev.port}=`); // browsers send it to every port
    expect(cookie).not.toContain(dev.key);
    expect(await other.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).toBe("{}");
    expect(await other.evaluate(() => document.cookie)).toBe("");

    const value = cookie.slice(cookie.indexOf("=") + 1).split(";")[0] as string;
    for (const { method, path } of await guarded(dev.url)) {
      const url =
        dev.url +
        path
          .replace("{org}", "default")
          .replace("{id}", x.id)
          .replace(/\{\w+\}/g, x.id);
      const socket = path.endsWith("/ws")
        ? {
            Connection: "Upgrade",
            Upgrade: "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Protocol": "perdure",
          }
        : {};
      for (const more of [{}, { "Perdure-Session": value }, { Authorization: `Bearer ${value}` }] as Record<
        string,
        string
      >[]) {
        const status = await statusOf(url, method, { Cookie: cookie, Origin: dev.url, ...socket, ...more });
        expect(`${method} ${path} ${Object.keys(more)}: ${status}`).toBe(
          `${method} ${path} ${Object.keys(more)}: 401`,
        );
      }
    }

    // The other page cannot make the browser send the session either. It has no half, and may
    // not send the header.
    const answers = await other.evaluate(
      async ([base, id]) => {
        const tried: string[] = [];
        const list = `${base}/api/orgs/default/agent-executions`;
        for (const headers of [undefined, { "Perdure-Session": "x" }]) {
          tried.push(
            await fetch(list, { credentials: "include", ...(headers ? { headers } : {}) }).then(
              () => "read",
              () => "refused",
            ),
          );
        }
        tried.push(
          await new Promise<string>((resolve) => {
            const socket = new WebSocket(`${list.replace("http", "ws")}/${id}/ws`, ["perdure"]);
            socket.onopen = () => resolve("open");
            socket.onerror = () => resolve("refused");
          }),
        );
        return tried;
      },
      [dev.url, x.id] as const,
    );
    expect(answers).toEqual(["refused", "refused", "refused"]);
    await page.reload();
    await expect(page.getByRole("heading", { name: "Runs", exact: true })).toBeVisible();
  } finally {
    thief.close();
    await context.close();
  }
});

test("two servers stay signed in side by side", async ({ browser, dev }) => {
  const second = await startDev();
  const context = await browser.newContext();
  try {
    const [one, two] = [await context.newPage(), await context.newPage()];
    await start(dev.client(), "short", "on the first server");
    await start(second.client(), "short", "on the second server");
    await enter(one, dev);
    await enter(two, second);
    for (const _ of [1, 2]) {
      await one.reload();
      await expect(one.getByText("on the first server").first()).toBeVisible();
      await two.reload();
      await expect(two.getByText("on the second server").first()).toBeVisible();
    }
    await one.goto(`${dev.url}/ai/settings`);
    await one.getByRole("button", { name: "Sign out" }).click();
    await signedOut(one);
    await two.reload();
    await expect(two.getByText("on the second server").first()).toBeVisible();
  } finally {
    await context.close();
    await second.close();
  }
});

/** Opens both kinds of streams in the page. `over` reports for each whether it has ended. */
async function openStreams(page: Page, id: string): Promise<() => Promise<string[]>> {
  await page.evaluate(async (run) => {
    const half = sessionStorage.getItem("perdure.session") ?? "";
    const path = `/api/orgs/default/agent-executions/${run}`;
    const ended: string[] = [];
    (window as unknown as { ended: string[] }).ended = ended;
    const answer = await fetch(`${path}/stream`, { headers: { "Perdure-Session": half } });
    if (!answer.ok || !answer.body) throw new Error(`the stream: ${answer.status}`);
    const reader = answer.body.getReader();
    await reader.read();
    const drain = async () => {
      for (;;) if ((await reader.read()).done) return;
    };
    void drain()
      .catch(() => undefined)
      .then(() => ended.push("events"));
    await new Promise<void>((resolve, reject) => {
      const socket = new WebSocket(`${location.origin.replace("http", "ws")}${path}/ws`, [
        "perdure",
        `perdure.session.${half}`,
      ]);
      socket.onopen = () => (socket.protocol === "perdure" ? resolve() : reject(new Error(socket.protocol)));
      socket.onerror = () => reject(new Error("refused"));
      socket.onclose = (e) => ended.push(`socket ${e.code}`);
    });
  }, id);
  return () => page.evaluate(() => (window as unknown as { ended: string[] }).ended.toSorted());
}

test("signing out, and the end of a session, end what is open in every tab", async ({ browser, dev }) => {
  const x = await start(dev.client(), "short", "look at this one");
  for (const how of ["signing out", "the end of the session"]) {
    const context = await browser.newContext();
    const [one, two] = [await context.newPage(), await context.newPage()];
    await enter(one, dev);
    const run = new RunView(two);
    await run.open(dev.url, x.id); // a second tab asks the first for its half
    await run.yourTurn();
    const over = await openStreams(two, x.id);
    expect(await over()).toEqual([]);
    if (how === "signing out") {
      await one.goto(`${dev.url}/ai/settings`);
      await one.getByRole("button", { name: "Sign out" }).click();
    } else {
      const own = (await dev.client().sessions.list({ limit: 1000 })).items.at(-1);
      await dev.client().sessions.revoke(own?.id ?? "");
    }
    await expect.poll(over).toEqual(["events", "socket 1008"]);
    await signedOut(two);
    await two.reload();
    await signedOut(two);
    await context.close();
  }
});

test("a tab stays signed in over a reload, a new one is let in by another, and a browser alone is not", async ({
  browser,
  dev,
}) => {
  const context = await browser.newContext();
  const one = await context.newPage();
  await enter(one, dev);
  expect(one.url()).toBe(`${dev.url}/ai/runs`);
  await one.reload();
  await expect(one.getByRole("heading", { name: "Runs", exact: true })).toBeVisible();
  const two = await context.newPage();
  await two.goto(`${dev.url}/ai/agents`);
  await expect(two.getByRole("heading", { name: "Agents", exact: true })).toBeVisible();
  const halves = [one, two].map((p) => p.evaluate(() => sessionStorage.getItem("perdure.session")));
  expect(await halves[0]).toBe(await halves[1]);
  expect(await one.evaluate(() => document.cookie)).toBe("");
  await one.goto("about:blank");
  await one.goto(`${dev.url}/ai/agents#session=forged&org=default`); // anybody can make a link
  await expect(one.getByRole("heading", { name: "Agents", exact: true })).toBeVisible();
  expect(one.url()).toBe(`${dev.url}/ai/agents`);
  await two.reload();
  await expect(two.getByRole("heading", { name: "Agents", exact: true })).toBeVisible();
  await one.close();
  await two.close();
  const three = await context.newPage();
  await three.goto(`${dev.url}/ai/runs`);
  await signedOut(three);
  await three.getByLabel("API key").fill(dev.key);
  await three.getByRole("button", { name: "Sign in" }).click();
  await expect(three.getByRole("heading", { name: "Runs", exact: true })).toBeVisible();
  await context.close();
});

test("sessions are listed, and one of another browser is ended", async ({ browser, dev }) => {
  const [here, there] = [
    await browser.newContext(),
    await browser.newContext({ userAgent: "Firefox/1 Linux" }),
  ];
  const [page, other] = [await here.newPage(), await there.newPage()];
  await enter(page, dev);
  await enter(other, dev);
  await page.goto(`${dev.url}/ai/settings`);
  const list = page.getByRole("list", { name: "Sessions" });
  await expect(list.getByText("this browser", { exact: true })).toHaveCount(1);
  await list.getByRole("button", { name: "End the session Firefox on Linux" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End it" }).click();
  await expect(list.getByRole("button", { name: "End the session Firefox on Linux" })).toHaveCount(0);
  await signedOut(other); // its list of runs is polled
  await expect(list.getByText("this browser", { exact: true })).toBeVisible();
  await here.close();
  await there.close();
});
