import { AxeBuilder } from "@axe-core/playwright";
import { expect, start, test } from "./stand";

test("a model call shows what the model saw, that it is what was sent, and the request of a provider", async ({
  page,
  dev,
}) => {
  await page.setViewportSize({ width: 390, height: 844 });
  const client = dev.client();
  const run = await start(client, "talk", "Count, please.");
  await expect.poll(async () => (await client.executions.get(run.id)).status).toBe("WAITING");
  await page.goto(`${dev.url}/ai/runs/${run.id}?panel=tasks`);
  await page.getByText("llm-request").first().click();
  await page.getByRole("button", { name: "Inspect the call" }).click();
  const call = page.getByRole("region", { name: "Model call" });
  await expect(call.getByRole("status")).toContainText("This is the prompt that was sent");
  await expect(call).toContainText("scripted/talk");
  await call.getByText("Messages (1)").click();
  await expect(call.getByRole("list", { name: "Messages" })).toContainText("Count, please.");
  await call.getByText("Tools (4)").click();
  await expect(call.getByText("read-file", { exact: true })).toBeVisible();
  await call.getByText("Answer", { exact: true }).click();
  await expect(call).toContainText("One.");
  await call.getByLabel("Request as").selectOption("anthropic");
  await expect(call.getByRole("group", { name: "Request body" })).toContainText('"max_tokens"');
  await call.getByLabel("Request as").selectOption("openai");
  await expect(call.getByRole("group", { name: "Request body" })).toContainText('"messages"');
  await expect(call.getByRole("group", { name: "Request body" })).not.toContainText('"max_tokens"');
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  expect(wide).toBe(false);
});
