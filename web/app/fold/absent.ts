/** Up to this many bytes a content is fetched as soon as its place is seen. */
const atOnce = 1 << 20;
/** Up to this many it can be shown: what a message with images may have. */
const shown = 8 << 20;

/** How a content of so many bytes that is not in the log is fetched. */
export function fetching(bytes: number): "at once" | "on demand" | "as a file" {
  if (bytes <= atOnce) return "at once";
  return bytes <= shown ? "on demand" : "as a file";
}

/** The time since which a worker is away, as the server's error tells it; null if it does not. */
export function sinceIn(message: string): string | null {
  return /\bsince (\d{4}-\d\d-\d\dT[\d:.]+Z)/.exec(message)?.[1] ?? null;
}
