import { readdirSync, readFileSync } from "node:fs";
import {
  type BrowserContext,
  test as base,
  expect,
  type Locator,
  type Page,
  type Request,
} from "@playwright/test";
import { Dev, program } from "../client/e2e/server";
import type { Execution, PerdureClient } from "../client/src/index";

const scripts = new URL("scripts/", import.meta.url);

/** Starts a separate server with all scripts of the directory. */
export async function startDev(): Promise<Dev> {
  const dev = new Dev(program());
  for (const name of readdirSync(scripts)) dev.script(name, readFileSync(new URL(name, scripts), "utf8"));
  await dev.start();
  return dev;
}

/** Begins a session, and gives the context's pages both of its halves. */
export async function signInTo(context: BrowserContext, dev: Dev): Promise<void> {
  const answer = await fetch(`${dev.url}/api/login`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ key: dev.key }),
  });
  const [name = "", value = ""] = (answer.headers.get("Set-Cookie") ?? "").split(";")[0]?.split("=") ?? [];
  await context.addCookies([{ name, value, url: dev.url, httpOnly: true, sameSite: "Strict" }]);
  const { session } = (await answer.json()) as { session: string };
  await context.addInitScript(
    ([origin, half]) => {
      if (location.origin === origin && !sessionStorage.getItem("perdure.session")) {
        sessionStorage.setItem("perdure.session", half);
      }
    },
    [dev.url, session] as const,
  );
}

/** The messages of a browser without a server, the only errors that a test may allow. */
export const noServer =
  /ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|WebSocket connection to/;

interface Fixtures {
  /** Signed in to `dev`. */
  page: Page;
  /** Errors of the console that the test expects. All others fail it. */
  allowed: RegExp[];
}

export const test = base.extend<Fixtures, { dev: Dev }>({
  dev: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures from the first argument
    async ({}, use) => {
      const dev = await startDev();
      await use(dev);
      await dev.close();
    },
    { scope: "worker" },
  ],
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures from the first argument
  allowed: async ({}, use) => use([]),
  page: async ({ context, dev, allowed }, use) => {
    await signInTo(context, dev);
    const wrong = watch(context, allowed);
    await use(await context.newPage());
    expect(wrong).toEqual([]);
  },
});

/** Collects unexpected events: errors, and requests to other hosts. */
export function watch(context: BrowserContext, allowed: RegExp[]): string[] {
  const wrong: string[] = [];
  const note = (what: string) => {
    if (!allowed.some((a) => a.test(what))) wrong.push(what);
  };
  context.on("console", (m) => {
    if (m.type() === "error" || m.type() === "warning") note(`console: ${m.text()}`);
  });
  context.on("weberror", (e) => note(`page: ${e.error().stack ?? e.error()}`));
  const beyond = (r: Request) => {
    const { hostname, protocol } = new URL(r.url());
    return protocol !== "data:" && hostname !== "127.0.0.1";
  };
  context.on("requestfinished", (r) => {
    if (beyond(r)) note(`request to ${r.url()}`);
  });
  context.on("requestfailed", (r) => {
    const why = r.failure()?.errorText ?? "";
    if (beyond(r) && why !== "csp") note(`request to ${r.url()}: ${why}`);
  });
  return wrong;
}

/** Starts a run of a script by the API. */
export function start(
  client: PerdureClient,
  script: string,
  prompt: string,
  oneShot = false,
): Promise<Execution> {
  return client.executions.create({
    userPrompt: prompt,
    models: [{ provider: "scripted", modelId: script }],
    tools: ["bash", "read-file", "write-file", "edit-file"],
    oneShot,
  });
}

/** The parts of a run's page that the tests read. */
export class RunView {
  readonly page: Page;
  readonly user: Locator;
  readonly assistant: Locator;
  readonly input: Locator;
  readonly status: Locator;
  readonly log: Locator;

  constructor(page: Page) {
    this.page = page;
    this.log = page.getByRole("log", { name: "Conversation" });
    this.user = this.log.locator("[data-role=user]");
    this.assistant = this.log.locator("[data-role=assistant]");
    this.input = page.getByLabel("Message to the agent");
    this.status = page.locator("h1 ~ [data-busy]");
  }

  async open(url: string, id: string): Promise<void> {
    await this.page.goto(`${url}/ai/runs/${id}`);
  }

  async say(text: string): Promise<void> {
    await this.input.fill(text);
    await this.input.press("Enter");
  }

  async yourTurn(): Promise<void> {
    await expect(this.status).toHaveText("Your turn");
  }

  /** Returns the visible content without times: the rows in order. */
  async picture(): Promise<string[]> {
    const rows = await this.log
      .locator("[data-role]")
      .evaluateAll((all) =>
        all.map(
          (row) =>
            `${row.getAttribute("data-role")}: ${(row as HTMLElement).innerText.replace(/\d+(\.\d+)? m?s\b/g, "")}`,
        ),
      );
    return rows.map((r) => r.replace(/\s+/g, " ").trim());
  }
}

export { expect };
