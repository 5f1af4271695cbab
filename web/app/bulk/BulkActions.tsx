import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { BulkAction, BulkFilter, BulkRequest } from "../../client/src/index";
import { api } from "../api/client";
import { Button, Confirm } from "../components/ui";
import type { RunsSearch } from "../router";
import { shortId } from "../text/format";

type Name = BulkAction["action"];

/** What is said of an action: on its button, and of the runs that it has handled. */
const words: Record<
  Name,
  { button: string; ask: string; done: string; on: NonNullable<RunsSearch["status"]>[] }
> = {
  cancel: {
    button: "Cancel all",
    ask: "Cancel",
    done: "cancelled",
    on: ["PENDING", "RUNNING", "WAITING", "FAILED_TURN"],
  },
  retry: { button: "Retry failed turns", ask: "Retry", done: "retried", on: ["WAITING", "FAILED_TURN"] },
};

const names: Name[] = ["cancel", "retry"];

/**
 * The part of a bulk action's filter for each field of the list's search. A field that is missing here does
 * not compile: without it, an action would reach runs that the list does not show.
 */
const filterParts: Record<keyof RunsSearch, (search: RunsSearch) => BulkFilter> = {
  status: ({ status }) =>
    status === "FAILED_TURN" ? { failedTurn: true } : status ? { status: [status] } : {},
  q: ({ q }) => (q ? { q } : {}),
  agent: ({ agent }) => (agent ? { agentDefinitionId: agent } : {}),
};

function filterOf(search: RunsSearch): BulkFilter {
  return Object.assign({}, ...Object.values(filterParts).map((part) => part(search)));
}

/** How often the progress is read, in milliseconds. */
const often = 500;

/** Actions on all runs that the filters of the list select, and the progress of the last one. */
export function BulkActions({ search }: { search: RunsSearch }) {
  const [asked, setAsked] = useState<BulkRequest>();
  const [begun, setBegun] = useState<string>();
  const possible = names.filter((n) => !search.status || words[n].on.includes(search.status));
  return (
    <section aria-label="All of these runs" className="mb-4 flex flex-wrap items-center gap-2">
      {possible.map((action) => (
        <Button key={action} onClick={() => setAsked({ action, filter: filterOf(search) })}>
          {words[action].button}
        </Button>
      ))}
      {begun && <Progress id={begun} onHide={() => setBegun(undefined)} />}
      {asked && (
        <Ask
          key={asked.action}
          request={asked}
          onBegun={(id) => {
            setBegun(id);
            setAsked(undefined);
          }}
          onClose={() => setAsked(undefined)}
        />
      )}
    </section>
  );
}

/** Shows how many runs an action would have, and asks before it begins. */
function Ask({
  request,
  onBegun,
  onClose,
}: {
  request: BulkRequest;
  onBegun: (id: string) => void;
  onClose: () => void;
}) {
  // A repeat of a request whose answer was lost gives the same action.
  const [key] = useState(() => crypto.randomUUID());
  const count = useQuery({
    queryKey: ["bulk", "count", request],
    queryFn: ({ signal }) => api().bulkActions.count(request, signal),
    staleTime: 0,
    gcTime: 0,
  });
  const start = useMutation({
    mutationFn: () => api().bulkActions.start(request, { idempotencyKey: key }),
    onSuccess: (a) => onBegun(a.id),
  });
  const n = count.data;
  const usable = n !== undefined && n.matched > 0 && !n.more;
  const { ask } = words[request.action];
  const error = count.error ?? start.error;
  return (
    <Confirm
      open
      title={usable ? `${ask} ${runs(n.matched)}?` : `${ask} runs`}
      action={usable ? `${ask} ${runs(n.matched)}` : ask}
      keep="Change nothing"
      busy={!usable || start.isPending}
      onConfirm={() => start.mutate()}
      onClose={onClose}
    >
      {count.isPending && "Counting the runs…"}
      {n?.matched === 0 && "None of these runs can be affected."}
      {n?.more && `More than ${n.matched.toLocaleString("en")} runs match. Narrow the filters first.`}
      {usable &&
        (request.action === "cancel"
          ? "Every run that the filters select and that has not ended is cancelled. Runs that start meanwhile are not."
          : "The failed turn of every run that the filters select is repeated.")}
      {error && (
        <span role="alert" className="mt-2 block text-bad">
          {error.message}
        </span>
      )}
    </Confirm>
  );
}

function runs(n: number): string {
  return n === 1 ? "1 run" : `${n.toLocaleString("en")} runs`;
}

function Progress({ id, onHide }: { id: string; onHide: () => void }) {
  const queries = useQueryClient();
  const action = useQuery({
    queryKey: ["bulk", id],
    queryFn: async ({ signal }) => {
      const a = await api().bulkActions.get(id, signal);
      if (a.status === "completed") void queries.invalidateQueries({ queryKey: ["runs"] });
      return a;
    },
    refetchInterval: (q) => (q.state.data?.status === "completed" ? false : often),
  });
  const a = action.data;
  if (action.isError) return <p className="text-sm text-bad">{action.error.message}</p>;
  if (!a) return null;
  return (
    <div className="min-w-56 flex-1 text-sm">
      <div className="flex items-center gap-2">
        {a.status === "running" && (
          <progress
            aria-label="Progress"
            max={a.matched}
            value={a.done + a.skipped + a.failed}
            className="h-1.5 flex-1 accent-accent"
          />
        )}
        <p role="status" className="text-soft">
          {progressText(a)}
        </p>
        {a.status === "completed" && <Button onClick={onHide}>Hide</Button>}
      </div>
      {(a.errors?.length ?? 0) > 0 && (
        <ul aria-label="Failures" className="mt-1 space-y-0.5 text-xs text-bad">
          {a.errors?.map((e) => (
            <li key={e.agentExecutionId} className="truncate">
              <Link
                to="/ai/runs/$runId"
                params={{ runId: e.agentExecutionId }}
                search={{}}
                className="font-mono underline"
              >
                {shortId(e.agentExecutionId)}
              </Link>{" "}
              {e.message}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** The counts of an action in words. */
function progressText(a: BulkAction): string {
  const parts = [`${a.done.toLocaleString("en")} of ${runs(a.matched)} ${words[a.action].done}`];
  if (a.skipped > 0) parts.push(`${a.skipped.toLocaleString("en")} skipped`);
  if (a.failed > 0) parts.push(`${a.failed.toLocaleString("en")} failed`);
  return parts.join(", ");
}
