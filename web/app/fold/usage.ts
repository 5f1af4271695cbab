import type { Usage } from "../../client/src/index";

/** A sum in US dollars; what has no price is a dash. */
export function money(cost: number | null | undefined): string {
  if (cost === null || cost === undefined) return "–";
  if (cost === 0) return "$0.00";
  if (cost < 0.01) return `$${cost.toPrecision(2)}`;
  return `$${cost.toFixed(cost < 1 ? 3 : 2)}`;
}

export function count(n: number): string {
  if (n < 10_000) return n.toLocaleString("en-US");
  if (n < 1_000_000) return `${(n / 1000).toFixed(1)}k`;
  return `${(n / 1_000_000).toFixed(2)}M`;
}

/** How much of what a model was given came from its cache, 0 to 1. */
export function cachedShare(u: Usage): number {
  const given = u.input + u.cacheRead + u.cacheWrite;
  return given === 0 ? 0 : u.cacheRead / given;
}
