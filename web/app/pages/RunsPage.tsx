import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useDeferredValue, useEffect, useState } from "react";
import type { Execution } from "../../client/src/index";
import { agentsQuery, runsQuery } from "../api/queries";
import { BulkActions } from "../bulk/BulkActions";
import { Ago } from "../components/Ago";
import { SearchField } from "../components/SearchField";
import { Page } from "../components/Shell";
import {
  Button,
  buttonClass,
  Chip,
  Empty,
  ErrorBanner,
  inputLook,
  Skeleton,
  StatusBadge,
} from "../components/ui";
import { chatKind, neededWorker, type StatusFilter, shownStatus, statusFilters } from "../fold/status";
import { spent } from "../fold/usage";
import { shortId } from "../text/format";

const route = getRouteApi("/ai/runs");

const filters: { label: string; status?: StatusFilter; selects?: string }[] = [
  { label: "All" },
  ...statusFilters,
];

export function RunsPage() {
  const search = route.useSearch();
  const runs = useInfiniteQuery(
    runsQuery({
      ...(search.status ? { status: search.status } : {}),
      ...(search.q ? { q: search.q } : {}),
      ...(search.agent ? { agentDefinitionId: search.agent } : {}),
    }),
  );
  const items = runs.data?.pages.flatMap((p) => p.items) ?? [];
  const filtered = Boolean(search.status || search.q || search.agent);
  return (
    <Page title="Runs" lead="Every run of an agent, newest first.">
      <Filters />
      {runs.isError && (
        <div className="mb-4">
          <ErrorBanner error={runs.error} what="The runs cannot be read" retry={() => void runs.refetch()} />
        </div>
      )}
      <BulkActions search={search} />
      <div className="overflow-hidden rounded-xl border border-line bg-surface">
        {runs.isPending && <Skeleton rows={6} />}
        {runs.data && items.length === 0 && !runs.hasNextPage && <NoRuns filtered={filtered} />}
        {runs.data && items.length === 0 && runs.hasNextPage && (
          <Empty title="Nothing among the newest runs">Older runs have not been searched yet.</Empty>
        )}
        {items.length > 0 && (
          <ul aria-label="Runs" className="divide-y divide-line">
            {items.map((x) => (
              <RunRow key={x.id} run={x} />
            ))}
          </ul>
        )}
      </div>
      {runs.hasNextPage && (
        <div className="mt-4 flex justify-center">
          <Button disabled={runs.isFetchingNextPage} onClick={() => void runs.fetchNextPage()}>
            {runs.isFetchingNextPage ? "Loading…" : "Show older runs"}
          </Button>
        </div>
      )}
    </Page>
  );
}

function Filters() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const agents = useQuery(agentsQuery());
  const [q, setQ] = useState(search.q ?? "");
  const settled = useDeferredValue(q);
  useEffect(() => {
    void navigate({ search: (s) => withQuery(s, settled), replace: true });
  }, [settled, navigate]);
  return (
    <div className="mb-4 flex flex-wrap items-center gap-2">
      <SearchField label="Search runs" placeholder="Prompt or id" value={q} onChange={setQ} />
      {(agents.data?.length ?? 0) > 0 && (
        <select
          aria-label="Agent"
          value={search.agent ?? ""}
          onChange={(e) => void navigate({ search: (s) => withAgent(s, e.target.value) })}
          className={`${inputLook} max-w-48`}
        >
          <option value="">All agents</option>
          {agents.data?.map((a) => (
            <option key={a.id} value={a.id}>
              {a.name}
            </option>
          ))}
        </select>
      )}
      <fieldset className="grid w-full grid-cols-3 rounded-lg border border-line bg-surface p-0.5 sm:flex sm:w-auto">
        <legend className="sr-only">Status</legend>
        {filters.map((f) => (
          <button
            key={f.label}
            type="button"
            title={f.selects}
            aria-pressed={search.status === f.status}
            onClick={() => void navigate({ search: (s) => withStatus(s, f.status) })}
            className="h-8 rounded-md px-2.5 text-sm whitespace-nowrap text-soft hover:text-ink aria-pressed:bg-accent-soft aria-pressed:font-medium aria-pressed:text-accent-strong"
          >
            {f.label}
          </button>
        ))}
      </fieldset>
    </div>
  );
}

type Search = ReturnType<typeof route.useSearch>;

function withQuery({ q: _, ...rest }: Search, q: string): Search {
  return q.trim() ? { ...rest, q: q.trim() } : rest;
}

function withAgent({ agent: _, ...rest }: Search, agent: string): Search {
  return agent ? { ...rest, agent } : rest;
}

function withStatus({ status: _, ...rest }: Search, status: Search["status"]): Search {
  return status ? { ...rest, status } : rest;
}

function NoRuns({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="No run is like that">Change the search or the filters.</Empty>;
  return (
    <Empty
      title="No runs yet"
      action={
        <Link to="/ai/runs/new" search={{}} className={buttonClass("primary")}>
          Start the first run
        </Link>
      }
    >
      A run is an agent at work: it outlasts crashes, deploys and closed laptops. What it does shows here as
      it happens.
    </Empty>
  );
}

function RunRow({ run }: { run: Execution }) {
  const models = Object.keys(run.usageByModel ?? {});
  const needed = neededWorker(run);
  return (
    <li>
      <Link
        to="/ai/runs/$runId"
        params={{ runId: run.id }}
        className="flex items-center gap-x-4 gap-y-1 px-4 py-3 transition-colors hover:bg-sunken focus-visible:-outline-offset-2 max-sm:flex-wrap"
      >
        <span className="flex w-36 shrink-0 max-sm:order-1 max-sm:w-auto">
          <StatusBadge shown={shownStatus(run)} />
        </span>
        <span className="min-w-0 flex-1 max-sm:order-3 max-sm:w-full max-sm:basis-full">
          <span className="block truncate text-sm font-medium">{run.title ?? run.kind}</span>
          <span className="mt-0.5 flex items-center gap-2 truncate text-xs text-faint">
            <span className="font-mono">{shortId(run.id)}</span>
            {run.kind !== chatKind && <span>{run.kind}</span>}
            {run.status === "FAILED" && run.error && <span className="truncate text-bad">{run.error}</span>}
            {run.turnError && <span className="truncate text-bad">{run.turnError}</span>}
            {run.stopReason === "turn_limit" && <span className="text-warn">turn limit reached</span>}
            {needed && <span className="truncate text-warn">{needed}</span>}
            {run.workerAway && <span className="text-warn">its worker is away</span>}
          </span>
        </span>
        <span className="hidden w-48 shrink-0 text-right md:block">
          {models[0] && <Chip title={models.join(", ")}>{models[0]}</Chip>}
        </span>
        <span
          className="w-16 shrink-0 text-right text-sm tabular-nums text-soft max-sm:order-2 max-sm:ml-auto max-sm:w-auto"
          title="Cost"
        >
          {spent(run.usage, run.usageByModel)}
        </span>
        <span className="w-20 shrink-0 text-right text-xs text-faint max-sm:order-2 max-sm:w-auto">
          <Ago at={run.createdAt} />
        </span>
      </Link>
    </li>
  );
}
