import type { ImagePart } from "../../client/src/index";

/** The image types that the models of all providers accept. */
export const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/**
 * The maximum bytes of one image, a limit of the models, and of a message's images, a limit of the
 * API.
 */
const mostOfOne = 3_700_000;
const mostOfAll = 5_500_000;

type Picked = Pick<File, "name" | "type" | "size" | "arrayBuffer">;

/**
 * Reads files as images of a message that may have some already. Returns the accepted images, and
 * the reason why the first of the others is rejected.
 */
export async function readImages(
  files: readonly Picked[],
  held: readonly ImagePart[],
): Promise<{ images: ImagePart[]; problem: string | null }> {
  const images: ImagePart[] = [];
  let room = mostOfAll - held.reduce((sum, p) => sum + (p.data.length * 3) / 4, 0);
  let problem: string | null = null;
  for (const file of files) {
    const wrong = wrongWith(file, room);
    if (wrong) {
      problem ??= wrong;
      continue;
    }
    room -= file.size;
    images.push({
      type: "image",
      mimeType: file.type,
      data: base64(new Uint8Array(await file.arrayBuffer())),
    });
  }
  return { images, problem };
}

function wrongWith(file: Picked, room: number): string | null {
  const name = file.name || "The image";
  if (!imageTypes.includes(file.type)) {
    return `${name} is no image that models take. Save it as PNG, JPEG, GIF or WebP.`;
  }
  if (file.size > mostOfOne) {
    return `${name} has ${megabytes(file.size)} MB, and models take ${megabytes(mostOfOne)} MB. Make it smaller, or save it as JPEG.`;
  }
  if (file.size > room) {
    return `${name} is too much for one message, which holds ${megabytes(mostOfAll)} MB of images. Send it with the next.`;
  }
  return null;
}

const megabytes = (bytes: number) => (bytes / 1_000_000).toFixed(1);

function base64(bytes: Uint8Array): string {
  let text = "";
  const piece = 0x8000; // a number of arguments that every engine accepts
  for (let at = 0; at < bytes.length; at += piece) {
    text += String.fromCharCode(...bytes.subarray(at, at + piece));
  }
  return btoa(text);
}
