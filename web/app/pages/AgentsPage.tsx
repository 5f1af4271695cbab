import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Definition } from "../../client/src/index";
import { agentsQuery } from "../api/queries";
import { Ago } from "../components/Ago";
import { PlusIcon } from "../components/icons";
import { PageSearch, Unmatched, useSearch } from "../components/SearchField";
import { Page } from "../components/Shell";
import { buttonClass, Chip, Empty, ErrorBanner, Skeleton } from "../components/ui";

export function AgentsPage() {
  const agents = useQuery(agentsQuery());
  const search = useSearch();
  const all = agents.data ?? [];
  const found = all.filter((a) =>
    search.fits(a.name, a.description, ...(a.models ?? []).map((m) => `${m.provider}/${m.modelId}`)),
  );
  const create = (
    <Link to="/ai/agents/new" className={buttonClass()}>
      <PlusIcon />
      New agent
    </Link>
  );
  return (
    <Page title="Agents" lead="Definitions that runs start from. A run keeps its own copy." actions={create}>
      {agents.isError && (
        <ErrorBanner
          error={agents.error}
          what="The agents cannot be read"
          retry={() => void agents.refetch()}
        />
      )}
      {agents.isPending && (
        <div className="rounded-xl border border-line bg-surface">
          <Skeleton rows={4} />
        </div>
      )}
      {agents.data?.length === 0 && (
        <div className="rounded-xl border border-line bg-surface">
          <Empty title="No agents yet" action={create}>
            An agent is a prompt, models, tools and limits under a name, to start runs from.
          </Empty>
        </div>
      )}
      {all.length > 0 && (
        <PageSearch
          search={search}
          label="Search agents"
          placeholder="Name, description or model"
          found={found.length}
          of={all.length}
        />
      )}
      {all.length > 0 && found.length === 0 && <Unmatched what="agent" search={search} />}
      {found.length > 0 && (
        <ul aria-label="Agents" className="grid gap-4 sm:grid-cols-2 lg:grid-cols-3">
          {found.map((a) => (
            <AgentCard key={a.id} agent={a} />
          ))}
        </ul>
      )}
    </Page>
  );
}

function AgentCard({ agent }: { agent: Definition }) {
  return (
    <li className="relative flex flex-col rounded-xl border border-line bg-surface p-5 transition-colors hover:border-line-strong">
      <h2 className="font-semibold">
        <Link
          to="/ai/agents/$agentId"
          params={{ agentId: agent.id }}
          className="after:absolute after:inset-0 after:rounded-xl"
        >
          {agent.name}
        </Link>
      </h2>
      <p className="mt-1 line-clamp-2 text-sm text-soft">{agent.description || "No description."}</p>
      <div className="mt-3 mb-4 flex flex-wrap gap-1.5">
        {agent.models?.slice(0, 2).map((m) => (
          <Chip key={`${m.provider}/${m.modelId}`}>{`${m.provider}/${m.modelId}`}</Chip>
        ))}
        {(agent.tools?.length ?? 0) > 0 && (
          <Chip title={agent.tools?.join(", ")}>{`${agent.tools?.length} tools`}</Chip>
        )}
      </div>
      <div className="mt-auto flex items-center justify-between gap-2">
        <span className="text-xs text-faint">
          changed <Ago at={agent.updatedAt} />
        </span>
        <Link
          to="/ai/runs/new"
          search={{ agent: agent.id }}
          className={buttonClass("plain", "relative z-1")}
          aria-label={`Start a run of ${agent.name}`}
        >
          Start
        </Link>
      </div>
    </li>
  );
}
