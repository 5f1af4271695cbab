import { AxeBuilder } from "@axe-core/playwright";
import { test as base, type Page } from "@playwright/test";
import type { Dev } from "../client/e2e/server";
import type { Execution, Question } from "../client/src/index";
import { expect, startDev, watch } from "./stand";

/** The pages of links need no session and no scripts: the browser has neither, and a phone's size. */
const test = base.extend<{ allowed: RegExp[] }, { dev: Dev }>({
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
  page: async ({ browser, allowed }, use) => {
    const context = await browser.newContext({
      javaScriptEnabled: false,
      viewport: { width: 390, height: 844 },
    });
    const wrong = watch(context, allowed);
    await use(await context.newPage());
    expect(wrong).toEqual([]);
    await context.close();
  },
});

/** Starts a run whose call of bash waits for its approval, and returns its question. */
async function ask(dev: Dev, rule: object = {}): Promise<[Execution, Question]> {
  const client = dev.client();
  const x = await client.executions.create({
    userPrompt: "write a note",
    models: [{ provider: "scripted", modelId: "approve" }],
    tools: ["bash"],
    oneShot: true,
    // biome-ignore lint/suspicious/noThenProperty: the rule has a member of this name
    approvals: [{ tools: ["bash"], then: "ask", reason: "May it write?", ...rule }],
  });
  let question: Question | undefined;
  await expect
    .poll(async () => {
      question = (await client.questions.list({ agentExecutionId: x.id })).items[0];
      return question?.status;
    })
    .toBe("open");
  return [x, question as Question];
}

let keys = 0;

/** A key that can answer. */
interface Voter {
  id: string;
  name: string;
}

async function voter(dev: Dev): Promise<Voter> {
  const made = await fetch(`${dev.url}/api/orgs/default/keys`, {
    method: "POST",
    headers: { Authorization: `Bearer ${dev.key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ name: `Ann ${++keys}`, role: "approver" }),
  });
  return (await made.json()) as Voter;
}

/** Returns the name of a key and the address of its link to a question. */
async function link(dev: Dev, question: Question, by?: Voter): Promise<[name: string, url: string]> {
  const { id, name } = by ?? (await voter(dev));
  const { url } = await dev.client().questions.createLink(question.id, { keyId: id, expires: "1h" });
  expect(url).toMatch(new RegExp(`^${dev.url}/q/[\\w-]{43}$`));
  return [name, url];
}

const ended = (dev: Dev, x: Execution) =>
  expect.poll(async () => (await dev.client().executions.get(x.id)).status).toBe("COMPLETED");

/** Checks that the page has no barrier, in light and dark, and fits the screen. */
async function looksRight(page: Page, name: string): Promise<void> {
  const wide = page.locator("html");
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    if (process.env.PERDURE_SHOTS) {
      await page.screenshot({
        path: `${process.env.PERDURE_SHOTS}/${name}-${colorScheme}.png`,
        fullPage: true,
      });
    }
  }
  const box = await wide.boundingBox();
  expect(box?.width).toBeLessThanOrEqual(390);
  await expect(page.locator("button").first()).toHaveCSS("min-height", "46.4px");
}

test("a call is approved with a link, without signing in and without scripts", async ({ page, dev }) => {
  const [x, question] = await ask(dev);
  const [name, url] = await link(dev, question);
  await page.goto(url);
  await expect(page.getByRole("heading", { name: "May bash run?" })).toBeVisible();
  await expect(page.getByText("May it write?")).toBeVisible();
  await expect(page.getByLabel("What is asked about")).toContainText("echo approved > note.txt");
  await expect(page.getByText(`You answer as ${name}.`)).toBeVisible();
  await looksRight(page, "approve");
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(page.getByRole("status")).toContainText(`Approved by ${name}.`);
  await ended(dev, x);
  await page.goto(url);
  await expect(page.getByRole("status")).toContainText(`Approved by ${name}.`);
  await expect(page.getByText("echo approved")).toHaveCount(0);
  await expect(page.getByRole("button")).toHaveCount(0);
});

test("a call is denied with a reason", async ({ page, dev }) => {
  const [x, question] = await ask(dev);
  const [name, url] = await link(dev, question);
  await page.goto(url);
  await page.getByLabel("Reason").fill("not today");
  await page.getByRole("button", { name: "Deny" }).click();
  await expect(page.getByRole("status")).toContainText(`Denied by ${name}.`);
  await ended(dev, x);
  expect(JSON.stringify((await dev.client().executions.entries(x.id)).items)).toContain(
    "it was denied: not today",
  );
});

test("a question that was changed after the page was opened is not answered", async ({
  page,
  dev,
  allowed,
}) => {
  allowed.push(/404/);
  const early = await voter(dev); // a later key does not count towards two votes
  const [x, question] = await ask(dev, { edit: true, needed: 2 });
  const [, url] = await link(dev, question, early);
  await page.goto(url);
  await dev.client().questions.answer(question.id, {
    verdict: "approve",
    detailsSha256: question.detailsSha256,
    details: '{"command": "echo edited"}',
  });
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(page.getByRole("heading", { name: "This link does not work" })).toBeVisible();
  const now = await dev.client().questions.get(question.id);
  expect(now.votes).toHaveLength(1);
  await dev.client().executions.cancel(x.id);
});

test("of two tabs with one link, one decides", async ({ page, dev, allowed }) => {
  allowed.push(/409/);
  const [x, question] = await ask(dev);
  const [name, url] = await link(dev, question);
  const second = await page.context().newPage();
  await page.goto(url);
  await second.goto(url);
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(page.getByRole("status")).toContainText(`Approved by ${name}.`);
  await second.getByRole("button", { name: "Deny" }).click();
  await expect(second.getByRole("status")).toContainText(`Approved by ${name}.`);
  await ended(dev, x);
});

test("the page of a link has no barriers", async ({ browser, dev }) => {
  const [x, question] = await ask(dev);
  const [, url] = await link(dev, question);
  // The check itself is a script of the test, which the page's policy forbids.
  const context = await browser.newContext({ bypassCSP: true, colorScheme: "dark" });
  const page = await context.newPage();
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.goto(url);
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  }
  await context.close();
  await dev.client().executions.cancel(x.id);
});
