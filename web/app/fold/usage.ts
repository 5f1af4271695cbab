import type { Usage } from "../../client/src/index";

/** Formats an amount in US dollars. An unknown amount is a dash. */
export function money(cost: number | null | undefined): string {
  if (cost === null || cost === undefined) return "–";
  if (cost === 0) return "$0.00";
  if (cost < 0.01) return `$${cost.toPrecision(2)}`;
  return `$${cost.toFixed(cost < 1 ? 3 : 2)}`;
}

/**
 * Formats the cost of a run. If one of its models has no price, the amount is a lower bound and
 * marked as such.
 */
export function spent(total: Usage | null | undefined, byModel: Record<string, Usage> | undefined): string {
  const cost = money(total?.cost);
  if (total?.cost === null || total?.cost === undefined) return cost;
  const whole = Object.values(byModel ?? {}).every((u) => u.calls === 0 || typeof u.cost === "number");
  return whole ? cost : `≥ ${cost}`;
}

export function count(n: number): string {
  if (n < 10_000) return n.toLocaleString("en-US");
  if (n < 1_000_000) return `${(n / 1000).toFixed(1)}k`;
  return `${(n / 1_000_000).toFixed(2)}M`;
}

/** Returns the share of a model's input that came from its cache, 0 to 1. */
export function cachedShare(u: Usage): number {
  const given = u.input + u.cacheRead + u.cacheWrite;
  return given === 0 ? 0 : u.cacheRead / given;
}
