import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useBlocker, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useRef, useState } from "react";
import type { Definition, DefinitionBody } from "../../client/src/index";
import { PerdureError } from "../../client/src/index";
import { api } from "../api/client";
import { agentQuery, catalogQuery } from "../api/queries";
import { Page } from "../components/Shell";
import {
  Banner,
  Button,
  buttonClass,
  Card,
  Confirm,
  ErrorBanner,
  Field,
  inputClass,
  Spinner,
} from "../components/ui";
import { LimitFields, ModelsField, SystemPromptField, ToolsField } from "../forms/AgentFields";
import { agentBody, agentDraft, type NamedDraft } from "../forms/agent";
import { type Catalog, type Faults, faultsFrom, faultsOf } from "../forms/draft";
import { useFaultFocus } from "../schema/ValueFields";

const route = getRouteApi("/ai/agents/$agentId");

export function NewAgentPage() {
  const catalog = useQuery({ ...catalogQuery(), refetchOnWindowFocus: false });
  if (catalog.data) return <AgentForm agent={null} catalog={catalog.data} />;
  return <NotYet of={catalog} what="The providers and tools cannot be listed" />;
}

export function AgentPage() {
  const { agentId } = route.useParams();
  const agent = useQuery({ ...agentQuery(agentId), refetchOnWindowFocus: false });
  const catalog = useQuery({ ...catalogQuery(), refetchOnWindowFocus: false });
  if (!agent.data) return <NotYet of={agent} what="This agent cannot be shown" />;
  if (!catalog.data) return <NotYet of={catalog} what="The providers and tools cannot be listed" />;
  return (
    <AgentForm key={`${agent.data.id} ${agent.data.version}`} agent={agent.data} catalog={catalog.data} />
  );
}

/** The page while a query that it needs has no result. */
function NotYet({
  of,
  what,
}: {
  of: { isError: boolean; error: unknown; refetch: () => unknown };
  what: string;
}) {
  return (
    <Page title="Agent" narrow>
      {of.isError ? (
        <ErrorBanner error={of.error} what={what} retry={() => void of.refetch()} />
      ) : (
        <Spinner />
      )}
    </Page>
  );
}

function AgentForm({ agent, catalog }: { agent: Definition | null; catalog: Catalog }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [draft, setDraft] = useState(() => agentDraft(agent, catalog));
  const [faults, setFaults] = useState<Faults>({});
  const form = useRef<HTMLFormElement>(null);
  useFaultFocus(form, faults);
  const [changed, setChanged] = useState(false);
  const change = (c: Partial<NamedDraft>) => {
    setDraft((d) => ({ ...d, ...c }));
    setChanged(true);
  };
  const save = useMutation({
    mutationFn: (body: DefinitionBody) =>
      agent
        ? api().definitions.replace(agent.id, body, { ifMatch: agent.version })
        : api().definitions.create(body),
    onSuccess: (saved) => {
      setChanged(false);
      queries.setQueryData(agentQuery(saved.id).queryKey, saved);
      void queries.invalidateQueries({ queryKey: ["agents"] });
      void navigate({ to: "/ai/agents", ignoreBlocker: true });
    },
    onError: (error) => setFaults(faultsFrom(error)),
  });
  useBlocker({
    shouldBlockFn: () => changed && !save.isSuccess && !confirm("Leave without saving?"),
    enableBeforeUnload: changed,
  });

  const submit = (e: FormEvent) => {
    e.preventDefault();
    const found: Faults = faultsOf(draft);
    if (!draft.name.trim()) found.name = "Give it a name.";
    setFaults(found);
    if (Object.keys(found).length === 0) save.mutate(agentBody(draft, agent));
  };
  const fields = { draft, catalog, faults, onChange: change };
  const conflict = save.error instanceof PerdureError && save.error.code === "conflict";

  return (
    <Page
      title={agent ? agent.name : "New agent"}
      lead={
        agent
          ? `Version ${agent.version}. Runs that have begun keep the version they began with.`
          : "A name for a prompt, models, tools and limits."
      }
      narrow
      actions={
        agent && (
          <Link to="/ai/runs/new" search={{ agent: agent.id }} className={buttonClass()}>
            Start a run
          </Link>
        )
      }
    >
      <form ref={form} onSubmit={submit} className="space-y-5" noValidate>
        <Card>
          <div className="space-y-5">
            <Field label="Name" error={faults.name}>
              {(props) => (
                <input
                  {...props}
                  value={draft.name}
                  onChange={(e) => change({ name: e.target.value })}
                  className={inputClass}
                />
              )}
            </Field>
            <Field label="Description">
              {(props) => (
                <input
                  {...props}
                  value={draft.description}
                  onChange={(e) => change({ description: e.target.value })}
                  className={inputClass}
                />
              )}
            </Field>
            <Field
              label="Short name"
              error={faults.slug}
              hint="Unique; made from the name if it is left empty."
            >
              {(props) => (
                <input
                  {...props}
                  value={draft.slug}
                  onChange={(e) => change({ slug: e.target.value })}
                  className={`${inputClass} font-mono`}
                />
              )}
            </Field>
          </div>
        </Card>
        <Card title="Agent">
          <div className="space-y-5">
            <ModelsField {...fields} />
            <ToolsField {...fields} />
            <SystemPromptField {...fields} />
          </div>
        </Card>
        <Card title="Limits">
          <LimitFields {...fields} />
        </Card>
        {conflict ? (
          <Banner
            tone="warn"
            title="Somebody has changed this agent meanwhile"
            action={
              <Button onClick={() => void queries.invalidateQueries({ queryKey: ["agents", agent?.id] })}>
                Load theirs
              </Button>
            }
          >
            Your changes are not saved. Loading shows theirs, and drops yours.
          </Banner>
        ) : (
          save.isError && <ErrorBanner error={save.error} what="The agent could not be saved" />
        )}
        <div className="flex items-center justify-between gap-2">
          {agent ? <Delete agent={agent} onDeleted={() => setChanged(false)} /> : <span />}
          <div className="flex gap-2">
            <Link to="/ai/agents" className={buttonClass("quiet")}>
              Back
            </Link>
            <Button type="submit" look="primary" disabled={save.isPending}>
              {save.isPending ? "Saving…" : agent ? "Save" : "Create the agent"}
            </Button>
          </div>
        </div>
      </form>
    </Page>
  );
}

function Delete({ agent, onDeleted }: { agent: Definition; onDeleted: () => void }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [asks, setAsks] = useState(false);
  const drop = useMutation({
    mutationFn: () => api().definitions.delete(agent.id),
    onSuccess: () => {
      onDeleted();
      void queries.invalidateQueries({ queryKey: ["agents"], exact: true });
      void navigate({ to: "/ai/agents", ignoreBlocker: true });
    },
    onSettled: () => setAsks(false),
  });
  return (
    <>
      <Button look="danger" onClick={() => setAsks(true)}>
        Delete
      </Button>
      {drop.isError && (
        <span role="alert" className="text-xs text-bad">
          {drop.error.message}
        </span>
      )}
      <Confirm
        open={asks}
        title={`Delete ${agent.name}?`}
        action="Delete"
        busy={drop.isPending}
        onConfirm={() => drop.mutate()}
        onClose={() => setAsks(false)}
      >
        Its runs stay, each with its own copy.
      </Confirm>
    </>
  );
}
