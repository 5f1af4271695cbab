import { expect, test } from "vitest";
import { readImages } from "../text/images";

const file = (name: string, type: string, bytes: number) =>
  new File([new Uint8Array(bytes).fill(7)], name, { type });

test("what models do not take is refused with what to do, and the rest goes with the message", async () => {
  const { images, problem } = await readImages(
    [
      file("a.svg", "image/svg+xml", 10),
      file("b.png", "image/png", 4),
      file("c.jpg", "image/jpeg", 3_700_001),
    ],
    [],
  );
  expect(images).toEqual([{ type: "image", mimeType: "image/png", data: btoa("\x07\x07\x07\x07") }]);
  expect(problem).toBe("a.svg is no image that models take. Save it as PNG, JPEG, GIF or WebP.");
});

test("images of one message fit into one request, with those that are there already", async () => {
  const first = await readImages([file("a.png", "image/png", 3_000_000)], []);
  expect(first.problem).toBeNull();
  const second = await readImages([file("b.png", "image/png", 3_000_000)], first.images);
  expect(second).toEqual({ images: [], problem: expect.stringContaining("Send it with the next") });
  expect(JSON.stringify(first.images).length).toBeLessThan(8 << 20);
});
