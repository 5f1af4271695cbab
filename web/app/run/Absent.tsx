import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect } from "react";
import type { Absent, Entry } from "../../client/src/index";
import { PerdureError } from "../../client/src/index";
import { api } from "../api/client";
import { wholeEntryQuery } from "../api/queries";
import { fetching, sinceIn } from "../fold/absent";
import { size, timeOf } from "../text/format";
import { useRun } from "./context";
import { useOpened } from "./opened";

/**
 * A placeholder for content that is not in the log. Small content is fetched automatically, larger
 * content on demand, and content that is too large for a page is offered as a file. The run's fold
 * then shows the fetched content in its place.
 */
export function AbsentContent({
  absent,
  what,
  heard,
}: {
  absent: Absent;
  what: "message" | "result";
  /** A part of the content was streamed and is shown. */
  heard: boolean;
}) {
  const { live } = useRun();
  const how = fetching(absent.bytes);
  const [asked, ask] = useOpened(`absent ${absent.entryId}`, how === "at once");
  const entry = useQuery({
    ...wholeEntryQuery(live.id, absent.entryId),
    enabled: asked && how !== "as a file",
  });
  useEffect(() => {
    if (entry.data) live.follower.supply(entry.data);
  }, [live, entry.data]);
  const bytes = size(absent.bytes);
  if (entry.isError)
    return <Failed error={entry.error} bytes={bytes} heard={heard} retry={() => void entry.refetch()} />;
  if (asked && how !== "as a file") {
    return (
      <Line role="status">{`Reading the ${what}, ${bytes}${absent.onWorker ? ", from its worker" : ""} …`}</Line>
    );
  }
  return (
    <Line>
      {how === "as a file"
        ? `The ${what} is too large for a page: ${bytes}.`
        : `The whole ${what} is large: ${bytes}.`}
      {how !== "as a file" && <Act onClick={() => ask(true)}>Show it</Act>}
      <Download id={live.id} absent={absent} />
    </Line>
  );
}

/**
 * While the worker is away, the content is requested again periodically, and appears when the
 * worker is back.
 */
function Failed({
  error,
  bytes,
  heard,
  retry,
}: {
  error: Error;
  bytes: string;
  heard: boolean;
  retry: () => void;
}) {
  const away = error instanceof PerdureError && error.code === "unavailable" && error.status === 503;
  const since = sinceIn(error.message);
  return (
    <Line role="status" title={error.message}>
      {away
        ? `${heard ? "Shown as it was heard; the whole is on its worker" : "On its worker"} (${bytes}), which is away${since ? ` since ${timeOf(since)}` : ""}.${heard ? "" : " It shows when the worker is back."}`
        : `It could not be read: ${error.message}`}
      <Act onClick={retry}>Try again</Act>
    </Line>
  );
}

function Download({ id, absent }: { id: string; absent: Absent }) {
  const save = useMutation({
    mutationFn: () => api().executions.wholeEntry(id, absent.entryId),
    onSuccess: keep,
  });
  return (
    <>
      <Act onClick={() => save.mutate()} disabled={save.isPending}>
        Download it
      </Act>
      {save.isError && (
        <span role="alert" className="text-bad">
          {save.error.message}
        </span>
      )}
    </>
  );
}

/** Offers an entry as a download. */
function keep(entry: Entry): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(entry, null, 2)], { type: "application/json" }));
  link.download = `entry-${entry.id}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function Line({ children, ...rest }: { children: ReactNode; role?: "status"; title?: string }) {
  return (
    <p {...rest} className="flex flex-wrap items-baseline gap-x-3 gap-y-1 text-sm text-soft">
      {children}
    </p>
  );
}

function Act({
  children,
  onClick,
  disabled = false,
}: {
  children: ReactNode;
  onClick: () => void;
  disabled?: boolean;
}) {
  return (
    <button
      type="button"
      onClick={onClick}
      disabled={disabled}
      className="rounded font-medium text-accent-strong underline underline-offset-2 hover:text-ink disabled:opacity-50"
    >
      {children}
    </button>
  );
}
