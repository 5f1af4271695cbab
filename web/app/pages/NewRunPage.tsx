import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type FormEvent, useRef, useState } from "react";
import type { Definition, StartBody } from "../../client/src/index";
import { api } from "../api/client";
import { agentsQuery, catalogQuery } from "../api/queries";
import { Page } from "../components/Shell";
import { Button, buttonClass, Card, Chip, ErrorBanner, Field, inputClass, Spinner } from "../components/ui";
import { LimitFields, ModelsField, SystemPromptField, ToolsField } from "../forms/AgentFields";
import { type AgentDraft, type Catalog, configOf, type Faults, faultsFrom, faultsOf } from "../forms/draft";
import { lastDraft, rememberDraft } from "../forms/last";

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

function NewRunForm({ catalog }: { catalog: Catalog }) {
  const { agent = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const queries = useQueryClient();
  const agents = useQuery(agentsQuery());
  const chosen = agents.data?.find((a) => a.id === agent);
  const [prompt, setPrompt] = useState("");
  const [workspace, setWorkspace] = useState("");
  const [oneShot, setOneShot] = useState(false);
  const [draft, setDraft] = useState<AgentDraft>(() => lastDraft(catalog));
  const [faults, setFaults] = useState<Faults>({});
  const [waiting, setWaiting] = useState(false);
  const once = useRef({ of: "", key: "" });

  const start = useMutation({
    mutationFn: (body: StartBody) => {
      const of = JSON.stringify(body);
      // A repeated request, for example after a lost reply, has the same idempotency key and starts
      // one run.
      if (once.current.of !== of)
        once.current = { of, key: crypto.getRandomValues(new Uint32Array(4)).join("-") };
      return api().executions.create(body, {
        idempotencyKey: once.current.key,
        onWait: () => setWaiting(true),
      });
    },
    onSuccess: (run) => {
      if (!agent) rememberDraft(draft);
      void queries.invalidateQueries({ queryKey: ["runs"] });
      void navigate({ to: "/ai/runs/$runId", params: { runId: run.id } });
    },
    onError: (error) => setFaults(faultsFrom(error)),
    onSettled: () => setWaiting(false),
  });

  const submit = (e: FormEvent) => {
    e.preventDefault();
    const found: Faults = agent ? {} : faultsOf(draft);
    if (!prompt.trim()) found.userPrompt = "Say what the agent is to do.";
    setFaults(found);
    if (Object.keys(found).length === 0) start.mutate(bodyOf({ agent, prompt, workspace, oneShot, draft }));
  };
  const fields = {
    draft,
    catalog,
    faults,
    onChange: (c: Partial<AgentDraft>) => setDraft((d) => ({ ...d, ...c })),
  };

  return (
    <Page title="New run" lead="What the agent is to do, and with what." narrow>
      <form onSubmit={submit} className="space-y-5" noValidate>
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
            <Field label="Agent" hint="A stored definition, or one for this run alone.">
              {(props) => (
                <select
                  {...props}
                  value={chosen ? agent : ""}
                  onChange={(e) =>
                    void navigate({ search: e.target.value ? { agent: e.target.value } : {}, replace: true })
                  }
                  className={inputClass}
                >
                  <option value="">For this run alone</option>
                  {agents.data?.map((a) => (
                    <option key={a.id} value={a.id}>
                      {a.name}
                    </option>
                  ))}
                </select>
              )}
            </Field>
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
          <div className="space-y-5">
            <LimitFields {...fields} />
            <Field label="Workspace" hint="A folder below the worker's workspace; empty: the whole of it.">
              {(props) => (
                <input
                  {...props}
                  value={workspace}
                  onChange={(e) => setWorkspace(e.target.value)}
                  className={`${inputClass} font-mono`}
                />
              )}
            </Field>
            <label className="flex items-start gap-2.5 text-sm">
              <input
                type="checkbox"
                checked={oneShot}
                onChange={(e) => setOneShot(e.target.checked)}
                className="mt-1 accent-accent"
              />
              <span>
                End after the first answer
                <span className="block text-xs text-faint">
                  Otherwise the run waits for what you say next.
                </span>
              </span>
            </label>
          </div>
        </Card>
        {waiting && (
          <p role="status" className="text-sm text-faint">
            No worker has registered yet. Waiting for one, up to 10 s.
          </p>
        )}
        {start.isError && <ErrorBanner error={start.error} what="The run could not be started" />}
        <div className="flex justify-end gap-2">
          <Link to="/ai/runs" search={{}} className={buttonClass("quiet")}>
            Back
          </Link>
          <Button type="submit" look="primary" disabled={start.isPending}>
            {start.isPending ? "Starting…" : "Start the run"}
          </Button>
        </div>
      </form>
    </Page>
  );
}

function bodyOf(v: {
  agent: string;
  prompt: string;
  workspace: string;
  oneShot: boolean;
  draft: AgentDraft;
}): StartBody {
  const config = configOf(v.draft);
  const common: StartBody = {
    userPrompt: v.prompt,
    oneShot: v.oneShot,
    ...(Object.keys(config).length > 0 ? { config } : {}),
    ...(v.workspace.trim() ? { workspace: v.workspace.trim() } : {}),
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
