/** Formats a duration in milliseconds in a few characters. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const s = ms / 1000;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.round(s)} s`;
  const m = Math.floor(s / 60);
  if (m < 60) return `${m} min ${Math.round(s - m * 60)} s`;
  const h = Math.floor(m / 60);
  return h < 24 ? `${h} h ${m - h * 60} min` : `${Math.floor(h / 24)} d ${h % 24} h`;
}

/** Formats a time relative to now, in the past or in the future. */
export function ago(at: string, now: number): string {
  const ms = now - Date.parse(at);
  if (Math.abs(ms) < 5_000) return "just now";
  const words = rough(Math.abs(ms));
  return ms > 0 ? `${words} ago` : `in ${words}`;
}

function rough(ms: number): string {
  const s = Math.round(ms / 1000);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86_400)} d`;
}

export function dateTime(at: string): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

export function clock(at: string): string {
  return new Date(at).toLocaleTimeString(undefined, { hour12: false });
}

/** Returns the first line of a text, shortened. */
export function firstLine(text: string, most = 140): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** Formats a number of bytes in a few characters. */
export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 999_500 ? `${Math.round(bytes / 1000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Formats a time of today without its date, any other time with it. */
export function timeOf(at: string, now = new Date()): string {
  return new Date(at).toDateString() === now.toDateString() ? clock(at) : dateTime(at);
}

/** Returns the subject of a run in one line. */
export function titleOf(input: unknown, kind: string): string {
  if (input === "worker") return `${kind}, on its worker`; // of a LOCAL run
  const i = (input ?? {}) as { userPrompt?: unknown; parts?: unknown };
  if (typeof i.userPrompt === "string" && i.userPrompt.trim()) return firstLine(i.userPrompt);
  if (Array.isArray(i.parts)) {
    const text = i.parts.find((p) => typeof p?.text === "string")?.text;
    if (text) return firstLine(text);
  }
  const json = JSON.stringify(input ?? null);
  return json === "null" || json === "{}" ? kind : firstLine(`${kind} ${json}`);
}

export const shortId = (id: string) => id.slice(-8);
