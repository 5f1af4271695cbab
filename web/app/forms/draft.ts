import type { AgentConfig, Definition, ModelConfig, ProviderInfo, ToolInfo } from "../../client/src/index";
import { PerdureError } from "../../client/src/index";

/** The providers and tools that the server lists. */
export interface Catalog {
  providers: ProviderInfo[];
  tools: ToolInfo[];
}

export const networks = ["open", "loopback", "none"];
export const thinkingLevels = ["off", "low", "medium", "high", "xhigh"];

/** The state of an agent's form. Numbers are text, as typed. */
export interface AgentDraft {
  systemPrompt: string;
  models: ModelConfig[];
  tools: string[];
  maxTurns: string;
  maxTokens: string;
  temperature: string;
  thinking: string;
  net: string;
  /** The part of the window from which the conversation is compacted. */
  compactAt: string;
  /** Automatic compaction: "on", "off", or "" for the default. */
  compact: string;
}

/** A new agent: a provider that a worker has registered, and every built-in tool. */
export function emptyDraft({ providers, tools }: Catalog): AgentDraft {
  return {
    systemPrompt: "",
    models: [{ provider: (providers.find((p) => p.registered) ?? providers[0])?.name ?? "", modelId: "" }],
    tools: tools.map((t) => t.name),
    maxTurns: "",
    maxTokens: "",
    temperature: "",
    thinking: "",
    net: "",
    compactAt: "",
    compact: "",
  };
}

const shown = (n: number | undefined) => (n === undefined ? "" : String(n));

export function draftOf(d: Definition): AgentDraft {
  const config: AgentConfig = d.config ?? {};
  return {
    systemPrompt: d.systemPrompt ?? "",
    models: d.models ?? [],
    tools: d.tools ?? [],
    maxTurns: shown(config.maxTurns),
    maxTokens: shown(config.maxTokens),
    temperature: shown(config.temperature),
    thinking: config.thinking ?? "",
    net: config.net ?? "",
    compactAt: shown(config.compaction?.at),
    compact: config.compaction?.off === undefined ? "" : config.compaction.off ? "off" : "on",
  };
}

/** The errors of a draft, by field, found before a request is sent. */
export type Faults = Partial<Record<keyof AgentDraft | "name" | "userPrompt" | "slug", string>>;

export function faultsOf(d: AgentDraft): Faults {
  const faults: Faults = {};
  if (!d.models.some((m) => m.modelId.trim())) faults.models = "Name at least one model.";
  else if (d.models.some((m) => !m.modelId.trim()))
    faults.models = "Each model needs its id; remove the empty one.";
  whole(d.maxTurns, "maxTurns", faults);
  whole(d.maxTokens, "maxTokens", faults);
  const t = Number(d.temperature);
  if (d.temperature.trim() && !(t >= 0 && t <= 2)) faults.temperature = "A number from 0 to 2.";
  const at = Number(d.compactAt);
  if (d.compactAt.trim() && !(at >= 0.1 && at <= 0.95)) faults.compactAt = "A number from 0.1 to 0.95.";
  return faults;
}

function whole(text: string, field: "maxTurns" | "maxTokens", faults: Faults): void {
  if (text.trim() && !/^[1-9]\d{0,8}$/.test(text.trim()))
    faults[field] = "A whole number from 1 on, or nothing.";
}

/** Returns the configuration with the filled fields. The server chooses the others. */
export function configOf(d: AgentDraft): AgentConfig {
  return {
    ...(d.maxTurns.trim() ? { maxTurns: Number(d.maxTurns) } : {}),
    ...(d.maxTokens.trim() ? { maxTokens: Number(d.maxTokens) } : {}),
    ...(d.temperature.trim() ? { temperature: Number(d.temperature) } : {}),
    ...(d.thinking ? { thinking: d.thinking } : {}),
    ...(d.net ? { net: d.net } : {}),
    ...compactionOf(d),
  };
}

function compactionOf({ compactAt, compact }: AgentDraft): Pick<AgentConfig, "compaction"> {
  const at = compactAt.trim() ? { at: Number(compactAt) } : {};
  const off = compact ? { off: compact === "off" } : {};
  return compactAt.trim() || compact ? { compaction: { ...at, ...off } } : {};
}

/** Maps the server's errors of fields to the fields of the form. */
export function faultsFrom(error: unknown): Faults {
  const faults: Faults = {};
  if (!(error instanceof PerdureError)) return faults;
  for (const { location, message } of error.fields) {
    const name = location
      .replace(/^body\.?/, "")
      .replace(/^config\./, "")
      .replace(/^compaction\.at$/, "compactAt")
      .match(/^\w+/)?.[0];
    if (name) faults[name as keyof Faults] = message;
  }
  return faults;
}
