import { type ReactNode, useId, useState } from "react";
import type { ModelConfig, ModelInfo } from "../../client/src/index";
import { CloseIcon, PlusIcon } from "../components/icons";
import { Button, Field, IconButton, inputClass, inputLook } from "../components/ui";
import { type AgentDraft, type Catalog, type Faults, networks, thinkingLevels } from "./draft";

export interface FieldsProps {
  draft: AgentDraft;
  catalog: Catalog;
  faults: Faults;
  onChange: (change: Partial<AgentDraft>) => void;
}

export function SystemPromptField({ draft, faults, onChange }: FieldsProps) {
  return (
    <Field label="System prompt" error={faults.systemPrompt} hint="What the agent is, and how it works.">
      {(props) => (
        <textarea
          {...props}
          rows={4}
          value={draft.systemPrompt}
          onChange={(e) => onChange({ systemPrompt: e.target.value })}
          className={`${inputClass} resize-y`}
        />
      )}
    </Field>
  );
}

export function ModelsField({ draft, catalog: { providers }, faults, onChange }: FieldsProps) {
  const example = (provider: string) => providers.find((p) => p.name === provider)?.defaultModel;
  const modelsOf = (provider: string) => providers.find((p) => p.name === provider)?.models ?? [];
  const list = useId();
  const set = (i: number, change: Partial<ModelConfig>) =>
    onChange({ models: draft.models.map((m, k) => (k === i ? { ...m, ...change } : m)) });
  return (
    <Group
      label="Models"
      about={faults.models ?? "The first is asked, unless the worker's program chooses another by turn."}
      bad={Boolean(faults.models)}
    >
      <div className="space-y-2">
        {draft.models.map((m, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: models have no other key while they are typed
          <div key={i} className="space-y-1">
            <div className="flex gap-2">
              <select
                aria-label={`Provider of model ${i + 1}`}
                value={m.provider}
                onChange={(e) => set(i, { provider: e.target.value })}
                className={`${inputLook} w-40 shrink-0 max-sm:w-32`}
              >
                {[...new Set([...providers.map((p) => p.name), m.provider])].map((p) => (
                  <option key={p}>{p}</option>
                ))}
              </select>
              <input
                aria-label={`Id of model ${i + 1}`}
                placeholder={example(m.provider) ? `model id, such as ${example(m.provider)}` : "model id"}
                value={m.modelId}
                list={`${list}-${i}`}
                aria-invalid={
                  Boolean(faults.models) && (!m.modelId.trim() || draft.models.every((d) => d.modelId.trim()))
                }
                onChange={(e) => set(i, { modelId: e.target.value })}
                className={`${inputLook} min-w-0 flex-1 font-mono`}
              />
              {draft.models.length > 1 && (
                <IconButton
                  label={`Remove model ${i + 1}`}
                  onClick={() => onChange({ models: draft.models.filter((_, k) => k !== i) })}
                >
                  <CloseIcon />
                </IconButton>
              )}
            </div>
            <datalist id={`${list}-${i}`}>
              {modelsOf(m.provider).map((k) => (
                <option key={k.id} value={k.id}>
                  {priceLine(k)}
                </option>
              ))}
            </datalist>
            <Price of={modelsOf(m.provider).find((k) => k.id === m.modelId.trim())} />
          </div>
        ))}
        <Button
          look="quiet"
          onClick={() =>
            onChange({
              models: [
                ...draft.models,
                { provider: draft.models[0]?.provider ?? providers[0]?.name ?? "", modelId: "" },
              ],
            })
          }
        >
          <PlusIcon />
          Add a model
        </Button>
      </div>
    </Group>
  );
}

/** Returns the list price of a model in a line. */
const priceLine = ({ price: p }: ModelInfo) => `$${p.input} in, $${p.output} out per million tokens`;

function Price({ of }: { of: ModelInfo | undefined }) {
  if (!of) return null;
  return <p className="text-xs text-faint">{priceLine(of)}</p>;
}

export function ToolsField({ draft, catalog: { tools }, faults, onChange }: FieldsProps) {
  const [other, setOther] = useState("");
  const toggle = (name: string) =>
    onChange({
      tools: draft.tools.includes(name) ? draft.tools.filter((t) => t !== name) : [...draft.tools, name],
    });
  const add = () => {
    const name = other.trim();
    if (name && !draft.tools.includes(name)) onChange({ tools: [...draft.tools, name] });
    setOther("");
  };
  return (
    <Group
      label="Tools"
      about={faults.tools ?? "What the agent may use. Other tools are those that your workers bring."}
      bad={Boolean(faults.tools)}
    >
      <div className="flex flex-wrap gap-2">
        {[...new Set([...tools.map((t) => t.name), ...draft.tools])].map((name) => (
          <label
            key={name}
            title={tools.find((t) => t.name === name)?.description}
            className="flex h-9 cursor-pointer items-center gap-2 rounded-lg border border-line-strong bg-surface px-3 font-mono text-sm has-checked:border-accent has-checked:bg-accent-soft has-focus-visible:outline-2 has-focus-visible:outline-accent"
          >
            <input
              type="checkbox"
              checked={draft.tools.includes(name)}
              onChange={() => toggle(name)}
              className="accent-accent"
            />
            {name}
          </label>
        ))}
        <span className="flex gap-1">
          <input
            aria-label="Another tool"
            placeholder="another tool"
            value={other}
            onChange={(e) => setOther(e.target.value)}
            onKeyDown={(e) => {
              if (e.key !== "Enter") return;
              e.preventDefault();
              add();
            }}
            className={`${inputLook} h-9 w-36 font-mono`}
          />
          <IconButton label="Add the tool" onClick={add} disabled={!other.trim()}>
            <PlusIcon />
          </IconButton>
        </span>
      </div>
    </Group>
  );
}

/** Limits and thinking. An empty field means the value of the definition, or of the server. */
export function LimitFields({ draft, faults, onChange }: FieldsProps) {
  const number = (
    name: "maxTurns" | "maxTokens" | "temperature" | "compactAt",
    label: string,
    hint: string,
  ) => (
    <Field label={label} hint={hint} error={faults[name]}>
      {(props) => (
        <input
          {...props}
          inputMode="decimal"
          value={draft[name]}
          onChange={(e) => onChange({ [name]: e.target.value })}
          className={inputClass}
        />
      )}
    </Field>
  );
  return (
    <div className="grid gap-5 sm:grid-cols-2">
      <Field label="Thinking" error={faults.thinking} hint="How much the model thinks before it answers.">
        {(props) => (
          <select
            {...props}
            value={draft.thinking}
            onChange={(e) => onChange({ thinking: e.target.value })}
            className={inputClass}
          >
            <option value="">default</option>
            {thinkingLevels.map((l) => (
              <option key={l}>{l}</option>
            ))}
          </select>
        )}
      </Field>
      <Field
        label="Network of bash"
        error={faults.net}
        hint="loopback: each command's own; a start and a worker may be stricter."
      >
        {(props) => (
          <select
            {...props}
            value={draft.net}
            onChange={(e) => onChange({ net: e.target.value })}
            className={inputClass}
          >
            <option value="">default</option>
            {networks.map((n) => (
              <option key={n}>{n}</option>
            ))}
          </select>
        )}
      </Field>
      {number("temperature", "Temperature", "0 to 2; empty: the model's own.")}
      {number("maxTurns", "Turns at most", "Of one answer; empty: the default.")}
      {number("maxTokens", "Tokens at most", "Of one model call; empty: the default.")}
      <Field label="Automatic compaction" hint="Older messages are summarized before the window is full.">
        {(props) => (
          <select
            {...props}
            value={draft.compact}
            onChange={(e) => onChange({ compact: e.target.value })}
            className={inputClass}
          >
            <option value="">default</option>
            <option>on</option>
            <option>off</option>
          </select>
        )}
      </Field>
      {number("compactAt", "Compact at", "Part of the window, 0.1 to 0.95; empty: 0.75.")}
    </div>
  );
}

function Group({
  label,
  about,
  bad,
  children,
}: {
  label: string;
  about: string;
  bad: boolean;
  children: ReactNode;
}) {
  const id = useId();
  return (
    <fieldset aria-describedby={id} className="min-w-0">
      <legend className="mb-1.5 text-sm font-medium">{label}</legend>
      {children}
      <p id={id} className={`mt-1.5 text-xs ${bad ? "text-bad" : "text-faint"}`}>
        {about}
      </p>
    </fieldset>
  );
}
