import { expect, RunView, start, test } from "./stand";

test.use({ allowed: [/Content Security Policy/] });

test("what a model or a tool says is text: nothing of it runs, loads or leads astray", async ({
  page,
  dev,
}) => {
  const x = await start(
    dev.client(),
    "xss",
    `<img src=x onerror="window.hacked=99"> [p](javascript:window.hacked=98)`,
  );
  const run = new RunView(page);
  await run.open(dev.url, x.id);
  await run.yourTurn();
  await expect(run.assistant.last()).toContainText("The last answer.");
  await page.locator("summary", { hasText: "Thought" }).click();
  for (const link of await page.locator("[data-role] a").all()) {
    const href = (await link.getAttribute("href")) ?? "";
    expect(href).toMatch(/^(https?:|mailto:)/);
    expect(await link.getAttribute("rel")).toContain("noopener");
  }
  await expect(
    page.locator(
      "[data-role] :is(script, iframe, object, embed, form, style, svg[onload], [onerror], [onclick], [ontoggle])",
    ),
  ).toHaveCount(0);
  await expect(page.locator("[data-role] img")).toHaveCount(0);
  await page.getByText("script link").click();
  await page.getByText("html link").click();
  expect(await page.evaluate(() => (window as { hacked?: number }).hacked)).toBeUndefined();
  await expect(page).toHaveURL(new RegExp(`/ai/runs/${x.id}$`));
  await expect(page.getByRole("log", { name: "Result of bash" }).getByText("window.hacked=22")).toHaveCSS(
    "color",
    "rgb(255, 123, 114)",
  );
});

test("the page's policy lets no script of another kind run", async ({ page, dev }) => {
  await page.goto(`${dev.url}/ai/runs`);
  await page.evaluate(() => {
    const w = window as { refused?: string[] };
    w.refused = [];
    const kinds = w.refused;
    document.addEventListener("securitypolicyviolation", (e) => kinds.push(e.effectiveDirective));
    const inline = document.createElement("script");
    inline.textContent = "window.injected = true";
    const style = document.createElement("style");
    style.textContent = "body { display: none }";
    const image = new Image();
    image.src = "https://example.com/pixel.png";
    const frame = document.createElement("iframe");
    frame.src = "https://example.com/";
    document.body.append(inline, style, image, frame);
    void fetch("https://example.com/").catch(() => undefined);
  });
  const refused = () => page.evaluate(() => (window as { refused?: string[] }).refused?.toSorted());
  await expect
    .poll(refused)
    .toEqual(["connect-src", "frame-src", "img-src", "script-src-elem", "style-src-elem"]);
  expect(await page.evaluate(() => (window as { injected?: boolean }).injected)).toBeUndefined();
  await expect(page.getByRole("heading", { name: "Runs", exact: true })).toBeVisible();
});
