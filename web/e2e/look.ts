import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { expect } from "./stand";

/** PERDURE_SCREENSHOTS=1 updates the screenshots of the documentation. */
const pictures = process.env.PERDURE_SCREENSHOTS
  ? new URL("../../docs/screenshots/", import.meta.url).pathname
  : null;

export interface Look {
  theme: "light" | "dark";
  width: "wide" | "phone";
}

export const looks: Look[] = [
  { theme: "light", width: "wide" },
  { theme: "dark", width: "wide" },
  { theme: "light", width: "phone" },
  // Two other combinations cover its colours and its layout, so it is only a screenshot.
  ...(pictures ? [{ theme: "dark", width: "phone" } as const] : []),
];

/** Checks a page with axe and its width, and takes its screenshot. */
export async function check(page: Page, name: string, look: Look): Promise<void> {
  const { violations } = await new AxeBuilder({ page })
    .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"])
    .analyze();
  const told = violations.map(
    (v) =>
      `${v.id}: ${v.nodes.map((n) => `${n.target.join(" ")} ${n.any.map((a) => a.message).join("; ")}`).join("\n  ")}`,
  );
  expect.soft(told, `${name}, ${look.theme}, ${look.width}`).toEqual([]);
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect.soft(wider, `${name} is wider than the ${look.width} screen`).toBeLessThanOrEqual(0);
  const off = await page.evaluate(() =>
    [...document.querySelectorAll("button, a, input, select, textarea")]
      .filter((e) => {
        const at = e.getBoundingClientRect();
        return at.width > 1 && (at.left < -0.5 || at.right > innerWidth + 0.5);
      })
      .map((e) => e.textContent || e.getAttribute("aria-label")),
  );
  expect.soft(off, `what runs off the ${look.width} screen on ${name}`).toEqual([]);
  if (pictures)
    await page.screenshot({
      path: `${pictures}${name}-${look.theme}-${look.width}.png`,
      animations: "disabled",
    });
}
