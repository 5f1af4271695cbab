import { AxeBuilder } from "@axe-core/playwright";
import { expect, signInTo, start, startDev, test } from "./stand";

test("all runs of a filter are cancelled, after the count was shown and confirmed", async ({ browser }) => {
  const dev = await startDev();
  const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
  try {
    await signInTo(context, dev);
    const client = dev.client();
    const ids: string[] = [];
    for (const n of ["one", "two", "three"]) ids.push((await start(client, "talk", `alike ${n}`)).id);
    const other = (await start(client, "talk", "different")).id;
    await Promise.all([...ids, other].map((id) => waits(dev, id)));
    const page = await context.newPage();
    await page.goto(`${dev.url}/ai/runs?q=alike`);
    await expect(page.getByRole("list", { name: "Runs" }).getByRole("listitem")).toHaveCount(3);
    await page.getByRole("button", { name: "Retry failed turns" }).click();
    await expect(page.getByText("None of these runs can be affected.")).toBeVisible();
    await page.getByRole("button", { name: "Change nothing" }).click();
    await page.getByRole("button", { name: "Cancel all" }).click();
    await expect(page.getByRole("heading", { name: "Cancel 3 runs?" })).toBeVisible();
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
    await page.getByRole("button", { name: "Change nothing" }).click();
    for (const id of ids) expect((await client.executions.get(id)).status).toBe("WAITING");
    await page.getByRole("button", { name: "Cancel all" }).click();
    await page.getByRole("button", { name: "Cancel 3 runs" }).click();
    await expect(page.getByText("3 of 3 runs cancelled")).toBeVisible();
    for (const id of ids) expect((await client.executions.get(id)).status).toBe("CANCELLED");
    expect((await client.executions.get(other)).status).toBe("WAITING");
    await expect(page.getByRole("list", { name: "Runs" }).getByText("Cancelled")).toHaveCount(3);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    expect(wide).toBe(false);
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  } finally {
    await context.close();
    await dev.close();
  }
});

/** Waits until a run waits for its user. */
async function waits(dev: Awaited<ReturnType<typeof startDev>>, id: string): Promise<void> {
  await expect.poll(async () => (await dev.client().executions.get(id)).status).toBe("WAITING");
}
