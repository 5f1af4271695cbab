import { check, looks } from "./look";
import { expect, RunView, start, test } from "./stand";

for (const look of looks) {
  test(`${look.theme} and ${look.width}: formulas are MathML, closed code blocks have colours, prices are text`, async ({
    page,
    dev,
  }) => {
    await page.emulateMedia({ colorScheme: look.theme, reducedMotion: "reduce" });
    if (look.width === "phone") await page.setViewportSize({ width: 390, height: 800 });
    const x = await start(dev.client(), "formulas", "Explain the roots");
    const run = new RunView(page);
    await run.open(dev.url, x.id);
    await run.yourTurn();
    const answer = run.assistant.last();
    await expect(answer.locator("math")).toHaveCount(4);
    await expect(answer.locator("math mfrac")).toHaveCount(1);
    await expect(answer).toContainText("That costs $5 and $10.");
    await expect(answer).toContainText("\\frac{1");
    await expect(answer.locator("pre .hljs-keyword").first()).toHaveText("func");
    await expect(answer.locator("pre .hljs-addition")).toHaveText("+ new");
    await expect(answer.getByText("plain $text$ here")).toBeVisible();
    const colour = (selector: string) =>
      answer
        .locator(selector)
        .first()
        .evaluate((e) => getComputedStyle(e).color);
    expect(await colour("pre .hljs-keyword")).not.toBe(await colour("pre"));
    await check(page, "formulas", look);
  });
}
