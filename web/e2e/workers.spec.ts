import { AxeBuilder } from "@axe-core/playwright";
import { expect, test } from "./stand";

test("workers and queues are listed, and a queue is paused and resumed, on a phone", async ({
  page,
  dev,
}) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${dev.url}/ai/settings`);
  await page.getByRole("link", { name: "Workers and queues" }).click();
  await expect(page.getByRole("heading", { name: "Workers and queues" })).toBeVisible();
  const workers = page.getByRole("list", { name: "Workers" });
  await expect(workers.getByText("connected").first()).toBeVisible();
  const queue = page.getByRole("list", { name: "Queues" }).getByRole("listitem").filter({ hasText: "later" });
  await dev.client().queues.pause("later");
  await expect(queue).toContainText("paused");
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations).toEqual([]);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  expect(wide).toBe(false);
  await queue.getByRole("button", { name: "Resume the queue later" }).click();
  await page.getByRole("button", { name: "Resume it" }).click();
  await expect(queue).toHaveCount(0);
});
