import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useRef, useState } from "react";
import type { Definition, StartBody } from "../../client/src/index";
import { agentsQuery, catalogQuery, kindsQuery } from "../api/queries";
import { Page } from "../components/Shell";
import { Card, Chip, ErrorBanner, Field, inputClass, Spinner } from "../components/ui";
import { chatKind } from "../fold/status";
import { LimitFields, ModelsField, SystemPromptField, ToolsField } from "../forms/AgentFields";
import { type AgentDraft, type Catalog, configOf, type Faults, faultsFrom, faultsOf } from "../forms/draft";
import { KindForm } from "../forms/KindForm";
import { lastDraft, rememberDraft } from "../forms/last";
import { OptionFields } from "../forms/OptionFields";
import { defaultOptions, type OptionFaults, readOptions } from "../forms/options";
import { StartBar } from "../forms/StartBar";
import { useStart } from "../forms/useStart";
import { useFaultFocus } from "../schema/ValueFields";

const route = getRouteApi("/ai/runs/new");

export function NewRunPage() {
  const catalog = useQuery({ ...catalogQuery(), refetchOnWindowFocus: false });
  if (catalog.data) return <NewRunForm catalog={catalog.data} />;
  return (
    <Page title="New run" narrow>
      {catalog.isError ? (
        <ErrorBanner
          error={catalog.error}
          what="The providers and tools cannot be listed"
          retry={() => void catalog.refetch()}
        />
      ) : (
        <Spinner />
      )}
    </Page>
  );
}

/** What can be started: a definition, a kind, or, with neither, an agent of this form. */
function NewRunForm({ catalog }: { catalog: Catalog }) {
  const { agent = "", kind = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const agents = useQuery(agentsQuery());
  const kinds = useQuery(kindsQuery());
  const others = kinds.data?.filter((k) => k.type === "agent" && k.kind !== chatKind) ?? [];
  const chosen = agents.data?.find((a) => a.id === agent);
  const ofKind = others.find((k) => k.kind === kind);
  const pick = (value: string) => {
    const [what, ...rest] = value.split(":");
    void navigate({ search: what ? { [what]: rest.join(":") } : {}, replace: true });
  };
  const picker = (
    <Field label="Agent" hint="A stored definition, a kind of your workers, or one for this run alone.">
      {(props) => (
        <select
          {...props}
          value={chosen ? `agent:${agent}` : ofKind ? `kind:${kind}` : ""}
          onChange={(e) => pick(e.target.value)}
          className={inputClass}
        >
          <option value="">For this run alone</option>
          {(agents.data?.length ?? 0) > 0 && (
            <optgroup label="Definitions">
              {agents.data?.map((a) => (
                <option key={a.id} value={`agent:${a.id}`}>
                  {a.name}
                </option>
              ))}
            </optgroup>
          )}
          {others.length > 0 && (
            <optgroup label="Kinds">
              {others.map((k) => (
                <option key={k.kind} value={`kind:${k.kind}`}>
                  {k.kind}
                </option>
              ))}
            </optgroup>
          )}
        </select>
      )}
    </Field>
  );
  return (
    <Page title="New run" lead="What the agent is to do, and with what." narrow>
      {kind && !ofKind && kinds.isPending ? (
        <Spinner />
      ) : ofKind ? (
        <KindForm key={kind} kind={ofKind} picker={picker} />
      ) : (
        <ChatForm catalog={catalog} chosen={chosen} agent={agent} picker={picker} />
      )}
    </Page>
  );
}

/** The form that starts a conversation. */
function ChatForm({
  catalog,
  chosen,
  agent,
  picker,
}: {
  catalog: Catalog;
  /** The definition with the id `agent`, once it is known. */
  chosen: Definition | undefined;
  agent: string;
  picker: ReactNode;
}) {
  const [prompt, setPrompt] = useState("");
  const [options, setOptions] = useState(defaultOptions);
  const [oneShot, setOneShot] = useState(false);
  const [draft, setDraft] = useState<AgentDraft>(() => lastDraft(catalog));
  const [faults, setFaults] = useState<Faults & OptionFaults>({});
  const form = useRef<HTMLFormElement>(null);
  useFaultFocus(form, faults);
  const { start, waiting } = useStart({
    onStarted: () => {
      if (!agent) rememberDraft(draft);
    },
    onError: (error) => setFaults(faultsFrom(error)),
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    const given = readOptions(options);
    const found: Faults & OptionFaults = { ...(agent ? {} : faultsOf(draft)), ...given.faults };
    if (!prompt.trim()) found.userPrompt = "Say what the agent is to do.";
    setFaults(found);
    if (Object.keys(found).length === 0)
      start.mutate({ ...bodyOf({ agent, prompt, oneShot, draft }), ...given.body });
  };
  const fields = {
    draft,
    catalog,
    faults,
    onChange: (c: Partial<AgentDraft>) => setDraft((d) => ({ ...d, ...c })),
  };
  return (
    <form ref={form} onSubmit={submit} className="space-y-5" noValidate>
      <Card>
        <div className="space-y-5">
          <Field label="Prompt" error={faults.userPrompt}>
            {(props) => (
              <textarea
                {...props}
                rows={5}
                // biome-ignore lint/a11y/noAutofocus: the field is the purpose of the page
                autoFocus
                value={prompt}
                onChange={(e) => setPrompt(e.target.value)}
                onKeyDown={(e) => {
                  if (e.key === "Enter" && (e.metaKey || e.ctrlKey)) e.currentTarget.form?.requestSubmit();
                }}
                placeholder="Find out why the tests of the parser fail, and mend it."
                className={`${inputClass} resize-y text-[15px]`}
              />
            )}
          </Field>
          {picker}
          {chosen && <Chosen agent={chosen} />}
        </div>
      </Card>
      {!chosen && (
        <Card title="Agent">
          <div className="space-y-5">
            <ModelsField {...fields} />
            <ToolsField {...fields} />
            <SystemPromptField {...fields} />
          </div>
        </Card>
      )}
      <Card title={chosen ? "Other limits for this run" : "Limits"}>
        <LimitFields {...fields} />
      </Card>
      <Card title="Run">
        <div className="space-y-5">
          <OptionFields
            options={options}
            faults={faults}
            onChange={(c) => setOptions((o) => ({ ...o, ...c }))}
          />
          <label className="flex items-start gap-2.5 text-sm">
            <input
              type="checkbox"
              checked={oneShot}
              onChange={(e) => setOneShot(e.target.checked)}
              className="mt-1 accent-accent"
            />
            <span>
              End after the first answer
              <span className="block text-xs text-faint">Otherwise the run waits for what you say next.</span>
            </span>
          </label>
        </div>
      </Card>
      <StartBar error={start.error} busy={start.isPending} waiting={waiting} />
    </form>
  );
}

function bodyOf(v: { agent: string; prompt: string; oneShot: boolean; draft: AgentDraft }): StartBody {
  const config = configOf(v.draft);
  const common: StartBody = {
    userPrompt: v.prompt,
    oneShot: v.oneShot,
    ...(Object.keys(config).length > 0 ? { config } : {}),
  };
  if (v.agent) return { ...common, agentDefinitionId: v.agent };
  return {
    ...common,
    models: v.draft.models.map((m) => ({ ...m, modelId: m.modelId.trim() })),
    tools: v.draft.tools,
    ...(v.draft.systemPrompt.trim() ? { systemPrompt: v.draft.systemPrompt } : {}),
  };
}

function Chosen({ agent }: { agent: Definition }) {
  return (
    <div className="flex flex-wrap items-center gap-1.5 rounded-lg bg-sunken px-3 py-2.5 text-sm text-soft">
      {agent.description && <p className="mb-1 w-full">{agent.description}</p>}
      {agent.models?.map((m) => (
        <Chip key={`${m.provider}/${m.modelId}`}>{`${m.provider}/${m.modelId}`}</Chip>
      ))}
      {agent.tools?.map((t) => (
        <Chip key={t}>{t}</Chip>
      ))}
    </div>
  );
}
