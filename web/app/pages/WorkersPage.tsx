import { type UseQueryResult, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import type { Queue, Worker } from "../../client/src/index";
import { api, mayBeAdmin, useAccess } from "../api/client";
import { queuesQuery, workersQuery } from "../api/queries";
import { Ago } from "../components/Ago";
import { PageSearch, type Search, Unmatched, useSearch } from "../components/SearchField";
import { Page } from "../components/Shell";
import { Button, Card, Confirm, ErrorBanner, Skeleton } from "../components/ui";

/** The workers and queues of all servers, refreshed while the page is in view. */
export function WorkersPage() {
  const search = useSearch();
  const queues = useQuery(queuesQuery());
  const workers = useQuery(workersQuery());
  const foundQueues = queues.data?.items.filter((q) => search.fits(q.name, ...marksOf(q))) ?? [];
  const foundWorkers = workers.data?.items.filter((w) => search.fits(...textsOf(w))) ?? [];
  return (
    <Page title="Workers and queues">
      <PageSearch
        search={search}
        label="Search workers and queues"
        placeholder="Queue, worker, kind or state"
        found={foundQueues.length + foundWorkers.length}
        of={(queues.data?.items.length ?? 0) + (workers.data?.items.length ?? 0)}
      />
      <div className="space-y-6">
        <Queues queues={queues} found={foundQueues} search={search} />
        <Workers workers={workers} found={foundWorkers} search={search} />
      </div>
    </Page>
  );
}

/** What a queue is marked with. */
const marksOf = (q: Queue) => [...(q.paused ? ["paused"] : []), ...(q.served ? [] : ["not served"])];

const stateOf = (w: Worker) => (w.connected ? "connected" : "lost");

/** The texts of a worker that are searched. */
const textsOf = (w: Worker) => [w.id, w.version, stateOf(w), ...w.queues, ...w.agents, ...w.tasks];

/** A list of the page, and what a search has found in it. */
interface Listed<T> {
  found: readonly T[];
  search: Search;
}

function Queues({
  queues,
  found,
  search,
}: Listed<Queue> & { queues: UseQueryResult<{ items: Queue[]; nextCursor: string | null }> }) {
  return (
    <Card title="Queues">
      {queues.isPending && <Skeleton rows={2} />}
      {queues.isError && (
        <ErrorBanner
          error={queues.error}
          what="The queues cannot be read"
          retry={() => void queues.refetch()}
        />
      )}
      {queues.data?.items.length === 0 && <p className="text-sm text-faint">No queue has work or workers.</p>}
      {(queues.data?.items.length ?? 0) > 0 && found.length === 0 && (
        <Unmatched what="queue" search={search} />
      )}
      {found.length > 0 && (
        <ul aria-label="Queues" className="divide-y divide-line rounded-lg border border-line">
          {found.map((q) => (
            <QueueRow key={q.name} of={q} />
          ))}
        </ul>
      )}
      {queues.data?.nextCursor && <More command="perdure queues" />}
    </Card>
  );
}

/** The note that a list has more than the page shows. */
function More({ command }: { command: string }) {
  return (
    <p className="mt-3 text-sm text-faint">
      These are the first 1,000. <code>{command}</code> lists all.
    </p>
  );
}

/** The text of a count, of which the largest stands for all larger numbers. */
export const countText = (n: number) => (n >= 1000 ? "1,000+" : String(n));

function QueueRow({ of }: { of: Queue }) {
  const { role } = useAccess();
  const queries = useQueryClient();
  const [asks, setAsks] = useState(false);
  const change = useMutation({
    mutationFn: async () => {
      if (of.paused) await api().queues.resume(of.name);
      else await api().queues.pause(of.name);
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ["queues"] }),
    onSettled: () => setAsks(false),
  });
  const verb = of.paused ? "Resume" : "Pause";
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5 text-sm">
      <span className="min-w-40 flex-1">
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="font-medium break-all">{of.name}</span>
          {marksOf(of).map((m) => (
            <Mark key={m}>{m}</Mark>
          ))}
        </span>
        <span className="block text-xs text-faint">
          {countText(of.waiting)} waiting
          {of.oldestAt && (
            <>
              , the oldest ready <Ago at={of.oldestAt} />
            </>
          )}
          ; {countText(of.running)} running; {countText(of.workers)} {of.workers === 1 ? "worker" : "workers"}
        </span>
      </span>
      {mayBeAdmin(role) && (
        <Button
          look={of.paused ? "plain" : "danger"}
          onClick={() => setAsks(true)}
          aria-label={`${verb} the queue ${of.name}`}
        >
          {verb}
        </Button>
      )}
      {change.isError && <span className="text-xs text-bad">{change.error.message}</span>}
      <Confirm
        open={asks}
        title={`${verb} the queue ${of.name}?`}
        action={`${verb} it`}
        busy={change.isPending}
        onConfirm={() => change.mutate()}
        onClose={() => setAsks(false)}
      >
        {of.paused
          ? "Workers get its work again."
          : "Workers get no more of its work, on any server. What runs continues."}
      </Confirm>
    </li>
  );
}

function Mark({ children }: { children: ReactNode }) {
  return (
    <span className="rounded-md whitespace-nowrap bg-sunken px-1.5 py-0.5 text-xs text-soft">{children}</span>
  );
}

function Workers({
  workers,
  found,
  search,
}: Listed<Worker> & { workers: UseQueryResult<{ items: Worker[]; nextCursor: string | null }> }) {
  return (
    <Card title="Workers">
      {workers.isPending && <Skeleton rows={2} />}
      {workers.isError && (
        <ErrorBanner
          error={workers.error}
          what="The workers cannot be read"
          retry={() => void workers.refetch()}
        />
      )}
      {workers.data?.items.length === 0 && (
        <p className="text-sm text-faint">
          No worker was seen within the last hour. <code>perdure worker</code> starts one.
        </p>
      )}
      {(workers.data?.items.length ?? 0) > 0 && found.length === 0 && (
        <Unmatched what="worker" search={search} />
      )}
      {found.length > 0 && (
        <ul aria-label="Workers" className="divide-y divide-line rounded-lg border border-line">
          {found.map((w) => (
            <WorkerRow key={w.id} of={w} />
          ))}
        </ul>
      )}
      {workers.data?.nextCursor && <More command="perdure workers" />}
    </Card>
  );
}

function heldText(n: number): string {
  if (n === 0) return "idle";
  return n === 1 ? "holds 1 run or task" : `holds ${countText(n)} runs and tasks`;
}

function WorkerRow({ of }: { of: Worker }) {
  const runs = [...new Set(of.holds.map((h) => h.agentExecutionId))];
  return (
    <li className="space-y-1 px-4 py-2.5 text-sm">
      <span className="flex flex-wrap items-center gap-x-2">
        <code className="text-xs break-all">{of.id}</code>
        <Mark>{stateOf(of)}</Mark>
        <span className="text-xs text-faint">
          seen <Ago at={of.lastSeenAt} />
        </span>
      </span>
      <span className="block text-xs break-words text-faint">
        {of.version || "no version"}; queues {of.queues.join(", ")}; {of.agentSlots} slots for runs,{" "}
        {of.taskSlots} for tasks; kinds {[...of.agents, ...of.tasks].join(", ")}
      </span>
      <span className="block text-xs">
        {heldText(of.holding)}
        {runs.map((id) => (
          <Link
            key={id}
            to="/ai/runs/$runId"
            params={{ runId: id }}
            search={{}}
            className="ml-2 text-accent-strong underline"
            aria-label={`Run ${id}`}
          >
            {id.slice(-8)}
          </Link>
        ))}
      </span>
    </li>
  );
}
