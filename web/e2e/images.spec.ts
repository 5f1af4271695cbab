import { expect, RunView, start, test } from "./stand";

/** An image of one pixel. */
const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

test("images are picked, pasted and dropped, and go with the message once", async ({ page, dev }) => {
  const x = await start(dev.client(), "short", "begin");
  const run = new RunView(page);
  await run.open(dev.url, x.id);
  await run.yourTurn();
  const picked = page.locator("input[type=file]");
  const attached = page.getByRole("list", { name: "Images of the message" }).getByRole("img");
  await picked.setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("no image") });
  await expect(page.getByRole("alert")).toContainText("Save it as PNG");
  await picked.setInputFiles({ name: "big.png", mimeType: "image/png", buffer: Buffer.alloc(3_800_000) });
  await expect(page.getByRole("alert")).toContainText("Make it smaller");
  await expect(attached).toHaveCount(0);

  await picked.setInputFiles({ name: "a.png", mimeType: "image/png", buffer: Buffer.from(pixel, "base64") });
  await expect(page.getByRole("alert")).toHaveCount(0);
  for (const how of ["paste", "drop"]) {
    await run.input.evaluate(
      (box, [type, data]) => {
        const bytes = Uint8Array.from(atob(data ?? ""), (c) => c.charCodeAt(0));
        const files = new DataTransfer();
        files.items.add(new File([bytes], "b.png", { type: "image/png" }));
        const given = { bubbles: true, cancelable: true };
        box.dispatchEvent(
          type === "paste"
            ? new ClipboardEvent("paste", { ...given, clipboardData: files })
            : new DragEvent("drop", { ...given, dataTransfer: files }),
        );
      },
      [how, pixel],
    );
  }
  await expect(attached).toHaveCount(3);
  await page.getByRole("button", { name: "Remove image 3" }).click();
  await expect(attached).toHaveCount(2);

  await run.say("what is on these");
  await expect(attached).toHaveCount(0);
  await expect(run.input).toHaveValue("");
  await expect(run.user.last().getByRole("img")).toHaveCount(2);
  await expect(run.assistant.last()).toContainText("Answer 1.");
  await run.yourTurn();
  await expect(run.user).toHaveCount(2);
  await expect(run.user.last().getByRole("img")).toHaveCount(2);
  const { items } = await dev.client().executions.entries(x.id, { limit: 100 });
  const content = items.filter((e) => e.role === "user").at(-1)?.content;
  const said = content === "worker" ? null : content?.parts;
  const image = { type: "image", mimeType: "image/png", data: pixel };
  expect(said).toEqual([{ type: "text", text: "what is on these" }, image, image]);
});

test("an image alone is a message", async ({ page, dev }) => {
  const x = await start(dev.client(), "short", "begin");
  const run = new RunView(page);
  await run.open(dev.url, x.id);
  await run.yourTurn();
  const file = { name: "a.png", mimeType: "image/png", buffer: Buffer.from(pixel, "base64") };
  await page.locator("input[type=file]").setInputFiles(file);
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await expect(run.assistant.last()).toContainText("Answer 1.");
  await expect(run.user).toHaveCount(2);
  await expect(run.user.last().getByRole("img")).toHaveCount(1);
});
