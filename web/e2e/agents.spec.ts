import { expect, RunView, test } from "./stand";

test("agents are defined, changed, started and deleted", async ({ page, dev }) => {
  await page.goto(`${dev.url}/ai/agents`);
  await expect(page.getByText("No agents yet")).toBeVisible();
  await page.getByRole("link", { name: "New agent" }).first().click();
  await page.getByRole("button", { name: "Create the agent" }).click();
  await expect(page.getByText("Give it a name.")).toBeVisible();
  await page.getByLabel("Name", { exact: true }).fill("Reviewer");
  await page.getByLabel("Description").fill("Reads changes and says what it thinks.");
  await page.getByLabel("Provider of model 1").selectOption("scripted");
  await page.getByLabel("Id of model 1").fill("short");
  await page.getByRole("checkbox", { name: "find" }).uncheck();
  await page.getByLabel("Turns at most").fill("none");
  await page.getByRole("button", { name: "Create the agent" }).click();
  await expect(page.getByText("A whole number from 1 on")).toBeVisible();
  await page.getByLabel("Turns at most").fill("20");
  await page.getByRole("button", { name: "Create the agent" }).click();
  await expect(page.getByRole("list", { name: "Agents" })).toContainText("Reviewer");

  await page.getByRole("link", { name: "Reviewer", exact: true }).click();
  await expect(page.getByLabel("Turns at most")).toHaveValue("20");
  await expect(page.getByRole("checkbox", { name: "find" })).not.toBeChecked();
  await page.getByLabel("Description").fill("Says what it thinks of changes.");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("list", { name: "Agents" })).toContainText("Says what it thinks of changes.");

  await page.getByRole("link", { name: "Start a run of Reviewer" }).click();
  await page.getByLabel("Prompt", { exact: true }).fill("Review this");
  await page.getByRole("button", { name: "Start the run" }).click();
  const run = new RunView(page);
  await run.yourTurn();
  await expect(run.assistant).toContainText("Ready.");

  await page.getByRole("link", { name: "Agents" }).click();
  await page.getByRole("link", { name: "Reviewer", exact: true }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByText("No agents yet")).toBeVisible();
});

test.describe("two people", () => {
  test.use({ allowed: [/409/] });
  test("who saves what somebody else has changed is told, and nothing is overwritten", async ({
    page,
    dev,
  }) => {
    const body = { name: "Shared", models: [{ provider: "scripted", modelId: "short" }] };
    const agent = await dev.client().definitions.create(body);
    await page.goto(`${dev.url}/ai/agents/${agent.id}`);
    await page.getByLabel("Description").fill("mine");
    await dev.client().definitions.replace(agent.id, { ...body, description: "theirs" });
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByText("Somebody has changed this agent meanwhile")).toBeVisible();
    await page.getByRole("button", { name: "Load theirs" }).click();
    await expect(page.getByLabel("Description")).toHaveValue("theirs");
    await dev.client().definitions.delete(agent.id);
  });
});
