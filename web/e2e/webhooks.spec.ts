import { createHmac } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { expect, test } from "./stand";

/** A real endpoint on this machine, which answers with a status that the test sets. */
class Endpoint {
  status = 204;
  readonly got: { body: string; headers: Record<string, string> }[] = [];
  readonly #server: Server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece: Buffer) => {
      body += piece.toString();
    });
    request.on("end", () => {
      this.got.push({ body, headers: request.headers as Record<string, string> });
      response.writeHead(this.status).end("thanks");
    });
  });

  async start(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, "127.0.0.1", done));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  close(): Promise<void> {
    return new Promise((done) => {
      this.#server.close(() => done());
      this.#server.closeAllConnections();
    });
  }
}

const row = (page: Page, url: string) => page.locator("[data-webhook]").filter({ hasText: url });

test("an admin makes a webhook, tests it, rotates its secret, and deletes it", async ({
  page,
  dev,
  allowed,
}) => {
  allowed.push(/400/);
  const endpoint = new Endpoint();
  const url = await endpoint.start();
  await page.goto(`${dev.url}/ai/settings`);
  await page.getByLabel("URL").fill(url);
  await page.getByLabel("Events").fill("nonsense");
  await page.getByRole("button", { name: "Make a webhook" }).click();
  await expect(page.getByText("neither an event that webhooks receive")).toBeVisible();
  await page.getByLabel("Events").fill("question.*, agent.failed");
  await page.getByRole("button", { name: "Make a webhook" }).click();
  const secret = page.locator("code", { hasText: "whsec_" });
  await expect(secret).toBeVisible();
  const first = (await secret.textContent()) ?? "";
  await page.getByRole("button", { name: "Done" }).click();
  await expect(secret).toHaveCount(0);

  const hook = row(page, url);
  await expect(hook).toContainText("question.*");
  await expect(hook).toContainText("enabled");
  await hook.getByRole("button", { name: "Deliveries" }).click();
  await expect(hook).toContainText("Nothing was sent yet.");
  await hook.getByRole("button", { name: "Send a test" }).click();
  await expect(hook.locator("[data-delivery=delivered]")).toContainText("answered 204");
  const { body, headers } = endpoint.got[0] ?? { body: "", headers: {} };
  expect(JSON.parse(body)).toMatchObject({ type: "webhook.test" });
  const signed = createHmac("sha256", Buffer.from(first.replace("whsec_", ""), "base64"))
    .update(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`)
    .digest("base64");
  expect(headers["webhook-signature"]).toBe(`v1,${signed}`);
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations).toEqual([]);

  await hook.getByRole("button", { name: "Rotate the secret" }).click();
  await expect(secret).toBeVisible();
  expect(await secret.textContent()).not.toBe(first);
  await page.getByRole("button", { name: "Done" }).click();

  await hook.getByRole("button", { name: "Disable" }).click();
  await expect(hook).toContainText("disabled");
  await expect(hook.getByRole("button", { name: "Send a test" })).toBeDisabled();
  await hook.getByRole("button", { name: "Enable" }).click();
  await expect(hook.getByRole("button", { name: "Send a test" })).toBeEnabled();

  await hook.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(hook).toHaveCount(0);
  await endpoint.close();
});

test("a webhook that the server has disabled says why, and a dead delivery is sent again", async ({
  page,
  dev,
}) => {
  const endpoint = new Endpoint();
  const url = await endpoint.start();
  endpoint.status = 410;
  const made = await dev.client().webhooks.create({ url });
  await dev.client().webhooks.test(made.id);
  await expect.poll(async () => (await dev.client().webhooks.get(made.id)).enabled).toBe(false);
  await page.goto(`${dev.url}/ai/settings`);
  const hook = row(page, url);
  await expect(hook).toContainText("Disabled by the server: the endpoint answered 410 Gone.");
  await hook.getByRole("button", { name: "Deliveries" }).click();
  const dead = hook.locator("[data-delivery=dead]");
  await expect(dead).toContainText("answered 410");
  await expect(dead.getByRole("button", { name: "Send again" })).toBeDisabled();
  endpoint.status = 200;
  await hook.getByRole("button", { name: "Enable" }).click();
  await dead.getByRole("button", { name: "Send again" }).click();
  await expect(hook.locator("[data-delivery=delivered]")).toContainText("answered 200");
  expect(endpoint.got).toHaveLength(2);
  expect(endpoint.got[1]?.headers["webhook-id"]).toBe(endpoint.got[0]?.headers["webhook-id"]);
  await dev.client().webhooks.delete(made.id);
  await endpoint.close();
});

test("a webhook is bound to a key that answers questions, chosen by its name and id", async ({
  page,
  dev,
}) => {
  const { keys } = dev.client();
  const worker = await keys.create({ name: "the machine", role: "worker" });
  const gone = await keys.create({ name: "bob", role: "approver" });
  await keys.revoke(gone.id);
  await page.goto(`${dev.url}/ai/settings`);
  await page.getByLabel("Name", { exact: true }).fill("ann");
  await page.getByLabel("Role").selectOption("approver");
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByRole("button", { name: "Done" }).click();
  const ann = (await keys.list()).items.find((k) => k.name === "ann");
  expect(ann?.role).toBe("approver");

  const listed = page
    .getByRole("list", { name: "API keys" })
    .getByRole("listitem")
    .filter({ hasText: "ann" });
  await expect(listed).toContainText(ann?.id.slice(-8) ?? "no id");

  const choice = page.getByLabel("Links for a key");
  const ids = () =>
    choice.locator("option").evaluateAll((all) => all.map((o) => (o as HTMLOptionElement).value));
  await expect.poll(ids).toContain(ann?.id);
  expect(await ids()).not.toContain(worker.id);
  expect(await ids()).not.toContain(gone.id);
  await page.getByLabel("URL").fill("https://example.com/questions");
  await page.getByLabel("Events").fill("question.*");
  await choice.selectOption(`ann (approver) · ${ann?.id}`);
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  await page.getByRole("button", { name: "Make a webhook" }).click();
  const hook = row(page, "https://example.com/questions");
  await expect(hook).toContainText(`links for ann · ${ann?.id.slice(-8)}`);
  await expect(choice).toHaveValue("");
  const bound = async () =>
    (await dev.client().webhooks.list()).items.find((w) => w.url === "https://example.com/questions");
  expect((await bound())?.keyId).toBe(ann?.id);
  await hook.getByRole("button", { name: "Disable" }).click();
  await expect(hook).toContainText("disabled");
  expect((await bound())?.keyId, "it stays bound").toBe(ann?.id);
  await page.getByRole("button", { name: "Revoke ann" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(hook).toContainText("(revoked)");
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
});

test("who is no admin sees no webhooks", async ({ page, dev, allowed }) => {
  allowed.push(/403/);
  const made = await fetch(`${dev.url}/api/orgs/default/keys`, {
    method: "POST",
    headers: { Authorization: `Bearer ${dev.key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "a client", role: "client" }),
  });
  const { key } = (await made.json()) as { key: string };
  await page.goto(`${dev.url}/ai/settings`);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key", { exact: true }).fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("navigation", { name: "Main" })).toBeVisible(); // else the next page ends the request
  await page.goto(`${dev.url}/ai/settings`);
  await expect(page.getByText("Remembered approvals")).toBeVisible();
  await expect(page.getByRole("heading", { name: "Webhooks" })).toHaveCount(0);
});
