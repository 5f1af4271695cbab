import type { StartBody } from "../../client/src/index";

/** Where and how a run is started, whatever its kind. Texts are as typed. */
export interface RunOptions {
  workspace: string;
  queue: string;
  persistenceMode: "REMOTE" | "LOCAL";
  metadata: string;
}

export const defaultOptions: RunOptions = {
  workspace: "",
  queue: "",
  persistenceMode: "REMOTE",
  metadata: "",
};

export type OptionFaults = Partial<Record<keyof RunOptions, string>>;

/** Returns the options as members of a start, and what is wrong. The server chooses what is empty. */
export function readOptions(o: RunOptions): { body: StartBody; faults: OptionFaults } {
  const faults: OptionFaults = {};
  const body: StartBody = {
    ...(o.workspace.trim() ? { workspace: o.workspace.trim() } : {}),
    ...(o.queue.trim() ? { queue: o.queue.trim() } : {}),
    ...(o.persistenceMode === "LOCAL" ? { persistenceMode: "LOCAL" } : {}),
  };
  if (o.metadata.trim()) {
    const metadata = objectOf(o.metadata);
    if (metadata) body.metadata = metadata;
    else faults.metadata = 'An object in JSON, such as {"ticket": "A-17"}.';
  }
  return { body, faults };
}

function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    const fits = typeof value === "object" && value !== null && !Array.isArray(value);
    return fits ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
