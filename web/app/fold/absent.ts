/** Content up to this number of bytes is fetched as soon as its place is in view. */
const atOnce = 1 << 20;
/** Content up to this number of bytes can be shown. It is the limit of a message with images. */
const shown = 8 << 20;

/** Returns how content of this size that is not in the log is fetched. */
export function fetching(bytes: number): "at once" | "on demand" | "as a file" {
  if (bytes <= atOnce) return "at once";
  return bytes <= shown ? "on demand" : "as a file";
}

/**
 * Returns the time since which a worker is away, from the server's error message; null if it has
 * none.
 */
export function sinceIn(message: string): string | null {
  return /\bsince (\d{4}-\d\d-\d\dT[\d:.]+Z)/.exec(message)?.[1] ?? null;
}
