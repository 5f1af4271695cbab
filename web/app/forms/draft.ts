import type { AgentConfig, Definition, ModelConfig } from "../../client/src/index";
import { PerdureError } from "../../client/src/index";

export const providers = ["anthropic", "openai", "openai-responses", "gemini", "scripted"];
export const builtInTools = ["bash", "read-file", "write-file", "edit-file", "grep", "find"];
export const networks = ["open", "loopback", "none"];
export const thinkingLevels = ["off", "low", "medium", "high", "xhigh"];

/** What a form holds of an agent; numbers as they are typed. */
export interface AgentDraft {
  systemPrompt: string;
  models: ModelConfig[];
  tools: string[];
  maxTurns: string;
  maxTokens: string;
  temperature: string;
  thinking: string;
  net: string;
}

export const emptyDraft: AgentDraft = {
  systemPrompt: "",
  models: [{ provider: "anthropic", modelId: "" }],
  tools: ["bash", "read-file", "write-file", "edit-file", "grep", "find"],
  maxTurns: "",
  maxTokens: "",
  temperature: "",
  thinking: "",
  net: "",
};

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
  };
}

/** What is wrong with a draft, by field, before a server is asked. */
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
  return faults;
}

function whole(text: string, field: "maxTurns" | "maxTokens", faults: Faults): void {
  if (text.trim() && !/^[1-9]\d{0,8}$/.test(text.trim()))
    faults[field] = "A whole number from 1 on, or nothing.";
}

/** What is said of the configuration; what is left empty is left to the server. */
export function configOf(d: AgentDraft): AgentConfig {
  return {
    ...(d.maxTurns.trim() ? { maxTurns: Number(d.maxTurns) } : {}),
    ...(d.maxTokens.trim() ? { maxTokens: Number(d.maxTokens) } : {}),
    ...(d.temperature.trim() ? { temperature: Number(d.temperature) } : {}),
    ...(d.thinking ? { thinking: d.thinking } : {}),
    ...(d.net ? { net: d.net } : {}),
  };
}

/** What a server says of single fields, put where they are shown. */
export function faultsFrom(error: unknown): Faults {
  const faults: Faults = {};
  if (!(error instanceof PerdureError)) return faults;
  for (const { location, message } of error.fields) {
    const name = location
      .replace(/^body\.?/, "")
      .replace(/^config\./, "")
      .match(/^\w+/)?.[0];
    if (name) faults[name as keyof Faults] = message;
  }
  return faults;
}
