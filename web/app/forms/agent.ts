import type { Definition, DefinitionBody } from "../../client/src/index";
import { type AgentDraft, type Catalog, configOf, draftOf, emptyDraft } from "./draft";

/** The state of the form of a stored agent, which has a name. */
export interface NamedDraft extends AgentDraft {
  name: string;
  description: string;
  slug: string;
}

/** Returns the draft of a stored agent, or of a new one. */
export function agentDraft(agent: Definition | null, catalog: Catalog): NamedDraft {
  if (!agent) return { ...emptyDraft(catalog), name: "", description: "", slug: "" };
  return { ...draftOf(agent), name: agent.name, description: agent.description ?? "", slug: agent.slug };
}

/**
 * Returns the request that stores the draft. Members of the agent that the form does not show, like its
 * policies and its retention, stay as they are.
 */
export function agentBody(v: NamedDraft, agent: Definition | null): DefinitionBody {
  const { id, createdAt, updatedAt, version, slug, ...kept } = agent ?? ({} as Partial<Definition>);
  return {
    ...kept,
    name: v.name.trim(),
    ...(v.slug.trim() ? { slug: v.slug.trim() } : {}),
    description: v.description.trim(),
    systemPrompt: v.systemPrompt,
    models: v.models.map((m) => ({ ...m, modelId: m.modelId.trim() })),
    tools: v.tools,
    config: configOf(v),
  } as DefinitionBody;
}
