import { type AgentDraft, emptyDraft } from "./draft";

const key = "perdure.lastAgent";

/** What was used last for a run of its own, so that it need not be typed again. */
export function lastDraft(): AgentDraft {
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? "null") as Partial<AgentDraft> | null;
    if (!kept || !Array.isArray(kept.models) || !Array.isArray(kept.tools)) return emptyDraft;
    return { ...emptyDraft, models: kept.models, tools: kept.tools };
  } catch {
    return emptyDraft;
  }
}

export function rememberDraft({ models, tools }: AgentDraft): void {
  localStorage.setItem(key, JSON.stringify({ models, tools }));
}
