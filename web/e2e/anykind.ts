import type { ChildProcess } from "node:child_process";
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { type Dev, eventually } from "../client/e2e/server";
import type { Execution } from "../client/src/index";
import { test as base, expect } from "./stand";

/** With a worker for the kind `order` of examples/order beside the built-in one. */
export const test = base.extend<object, { orders: ChildProcess }>({
  orders: [
    async ({ dev }, use) => {
      const worker = dev.exampleWorker("order");
      await eventually("the kind order is registered", async () =>
        (await dev.client().catalog.kinds()).items.some((k) => k.kind === "order"),
      );
      await use(worker);
      worker.kill("SIGKILL");
    },
    { scope: "worker", auto: true },
  ],
});

export { expect };

export interface Order {
  article: string;
  quantity?: number;
  gift?: boolean;
  notes?: string[];
}

/** Starts an order by the API. */
export function order(
  dev: Dev,
  o: Order,
  more: { queue?: string; approvals?: unknown } = {},
): Promise<Execution> {
  const input = { quantity: 2, price: 1.5, to: { name: "ann" }, ...o };
  return dev.client().executions.create({ kind: "order", input, ...more });
}

/** Checks with axe, and that nothing is wider than the screen. */
export async function accessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page })
    .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"])
    .analyze();
  expect(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ")).join("; ")}`)).toEqual([]);
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(wider).toBeLessThanOrEqual(0);
}
