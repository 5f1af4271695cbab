import { type AgentDraft, type Catalog, emptyDraft } from "./draft";

const key = "perdure.lastAgent";

/**
 * Returns the configuration of the last run without an agent definition, as the default for the
 * next one.
 */
export function lastDraft(catalog: Catalog): AgentDraft {
  const empty = emptyDraft(catalog);
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? "null") as Partial<AgentDraft> | null;
    if (!kept || !Array.isArray(kept.models) || !Array.isArray(kept.tools)) return empty;
    return { ...empty, models: kept.models, tools: kept.tools };
  } catch {
    return empty;
  }
}

export function rememberDraft({ models, tools }: AgentDraft): void {
  localStorage.setItem(key, JSON.stringify({ models, tools }));
}
