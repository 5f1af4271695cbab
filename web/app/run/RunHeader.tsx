import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { memo, useState } from "react";
import type { ExecutionView } from "../../client/src/index";
import { api } from "../api/client";
import { usageQuery } from "../api/queries";
import { BackIcon, PanelIcon, SearchIcon, StopIcon } from "../components/icons";
import { Button, Confirm, IconButton, StatusBadge } from "../components/ui";
import { chatKind, shownStatus } from "../fold/status";
import { spent } from "../fold/usage";

/** The run's name, status and cost, and the button to end it. */
export const RunHeader = memo(function RunHeader({
  id,
  title,
  kind,
  status,
  waitReason,
  wait,
  phase,
  checkpoint,
  reconnecting,
  onFind,
}: Pick<ExecutionView, "status" | "waitReason" | "wait" | "phase" | "checkpoint"> & {
  id: string;
  title: string;
  /** Undefined while it is not known. */
  kind: string | undefined;
  reconnecting: boolean;
  onFind: (open: boolean) => void;
}) {
  const usage = useQuery(usageQuery(id, checkpoint));
  const chats = kind === chatKind;
  return (
    <div className="flex min-h-14 shrink-0 items-center gap-2 border-b border-line bg-surface px-2 py-2 sm:gap-3 sm:px-4">
      <Link
        to="/ai/runs"
        search={{}}
        aria-label="All runs"
        className="inline-flex size-9 shrink-0 items-center justify-center rounded-lg text-soft hover:bg-sunken hover:text-ink"
      >
        <BackIcon />
      </Link>
      <h1 className="min-w-0 flex-1 truncate text-sm font-semibold sm:text-base" title={title}>
        {title}
      </h1>
      {reconnecting && <Reconnecting />}
      {status && kind && <StatusBadge shown={shownStatus({ status, waitReason, wait, kind }, phase)} />}
      {(chats || usage.data?.total) && (
        <span className="text-sm text-soft tabular-nums max-sm:hidden" title="Cost so far">
          {spent(usage.data?.total, usage.data?.byModel)}
        </span>
      )}
      {chats && (phase === "working" || phase === "asks") && <StopTurn id={id} />}
      {status && phase !== "ended" && phase !== "cancelling" && <Cancel id={id} />}
      {chats && (
        <IconButton label="Find in the run ( / )" className="max-sm:w-8" onClick={() => onFind(true)}>
          <SearchIcon />
        </IconButton>
      )}
      <PanelButton />
    </div>
  );
});

const route = getRouteApi("/ai/runs/$runId");

function PanelButton() {
  const { panel } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <IconButton
      label={panel ? "Close the side panel" : "Open the side panel"}
      aria-expanded={Boolean(panel)}
      onClick={() => void navigate({ search: panel ? {} : { panel: "overview" } })}
      className="aria-expanded:bg-sunken aria-expanded:text-ink"
    >
      <PanelIcon />
    </IconButton>
  );
}

function Reconnecting() {
  return (
    <span
      role="status"
      className="flex items-center gap-1.5 rounded-full bg-warn-soft px-2.5 py-0.5 text-xs text-warn"
    >
      <span className="breathe size-1.5 rounded-full bg-current" aria-hidden="true" />
      Reconnecting
    </span>
  );
}

/** Stops what the agent is doing; the run then waits for a message. */
function StopTurn({ id }: { id: string }) {
  const stop = useMutation({ mutationFn: () => api().executions.interrupt(id) });
  return (
    <>
      <Button disabled={stop.isPending} onClick={() => stop.mutate()} aria-label="Stop the turn">
        <StopIcon className="size-3.5" />
        <span className="max-sm:sr-only">Stop</span>
      </Button>
      {stop.isError && (
        <span role="alert" className="text-xs text-bad">
          {stop.error.message}
        </span>
      )}
    </>
  );
}

function Cancel({ id }: { id: string }) {
  const [asks, setAsks] = useState(false);
  const cancel = useMutation({
    mutationFn: () => api().executions.cancel(id),
    onSettled: () => setAsks(false),
  });
  return (
    <>
      <Button look="danger" onClick={() => setAsks(true)} aria-label="Cancel the run">
        <StopIcon className="size-3.5" />
        <span className="max-sm:sr-only">Cancel</span>
      </Button>
      {cancel.isError && (
        <span role="alert" className="text-xs text-bad">
          {cancel.error.message}
        </span>
      )}
      <Confirm
        open={asks}
        title="Cancel this run?"
        action="Cancel the run"
        busy={cancel.isPending}
        onConfirm={() => cancel.mutate()}
        onClose={() => setAsks(false)}
      >
        The agent stops where it is, and its tools are ended. It cannot be resumed; what was said stays.
      </Confirm>
    </>
  );
}
