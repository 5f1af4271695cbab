import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useRef, useState } from "react";
import type { Execution } from "../../client/src/index";
import type { LiveRun, LiveState } from "../api/live";
import { kindsQuery, runQuery } from "../api/queries";
import { useTasks } from "../api/tasks";
import { Banner, Button, Card, ErrorBanner, Spinner } from "../components/ui";
import { declaredBy } from "../fold/signal";
import { type TaskLine, taskName, timelineOf } from "../fold/timeline";
import { Policies } from "../run/Policies";
import { FoldedJson } from "./Json";
import { NoWorker } from "./NoWorker";
import { Timeline } from "./Timeline";
import { signalsIn, WaitsFor } from "./WaitsFor";

/** The page of a run of any kind: its input and output, what it waits for, and its timeline. */
export function AnyRun({
  id,
  kind,
  live,
  state,
  conversation,
}: {
  id: string;
  kind: string;
  live: LiveRun;
  state: LiveState;
  /** The messages of the run, if it has any. */
  conversation: ReactNode;
}) {
  const [messages, setMessages] = useState(false);
  return (
    <div className="flex min-h-0 min-w-0 flex-1 flex-col">
      {conversation && (
        <fieldset className="flex shrink-0 gap-1 border-b border-line bg-surface px-4 py-1.5">
          <legend className="sr-only">View</legend>
          <View pressed={!messages} onClick={() => setMessages(false)}>
            Timeline
          </View>
          <View pressed={messages} onClick={() => setMessages(true)}>
            Messages
          </View>
        </fieldset>
      )}
      {conversation && messages ? conversation : <Facets id={id} kind={kind} live={live} state={state} />}
    </div>
  );
}

function View({ pressed, onClick, children }: { pressed: boolean; onClick: () => void; children: string }) {
  return (
    <button
      type="button"
      aria-pressed={pressed}
      onClick={onClick}
      className="h-8 rounded-md px-3 text-sm text-soft hover:text-ink aria-pressed:bg-accent-soft aria-pressed:font-medium aria-pressed:text-accent-strong"
    >
      {children}
    </button>
  );
}

function Facets({ id, kind, live, state }: { id: string; kind: string; live: LiveRun; state: LiveState }) {
  const { view } = state;
  const scroller = useRef<HTMLDivElement>(null);
  const run = useQuery(runQuery(id, `${view.status} ${view.phase}`));
  const held = live.follower.held;
  // Growing text changes none of these, and is not an item.
  const at = `${live.follower.resets} ${held.messages.length} ${state.connection}`;
  const { pages, state: tasks } = useTasks(id, at, view.status === "RUNNING");
  const names = useMemo(() => namesOf(tasks.tasks), [tasks.tasks]);
  const kinds = useQuery(kindsQuery());
  const declared = useMemo(() => declaredBy(kind, signalsIn(kinds.data, kind)), [kinds.data, kind]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the log changes in place, and `at` with it
  const items = useMemo(
    () => timelineOf(tasks.tasks, held.messages, names, declared),
    [tasks.tasks, names, declared, held, at],
  );
  const x = run.data;
  const queues = [
    ...(view.phase === "queued" && x ? [x.queue] : []),
    ...tasks.tasks.filter((t) => t.status === "PENDING" && !view.ended).map((t) => t.queue),
  ];
  return (
    <div
      ref={scroller}
      role="region"
      aria-label="The run"
      tabIndex={0}
      className="min-h-0 flex-1 overflow-y-auto focus-visible:-outline-offset-2"
    >
      <div className="mx-auto w-full max-w-5xl space-y-4 px-4 py-5 sm:px-6">
        {!x && !run.isError && <Spinner label="Reading the run" />}
        {run.isError && (
          <ErrorBanner error={run.error} what="The run cannot be read" retry={() => void run.refetch()} />
        )}
        <NoWorker queues={queues} />
        {view.error && (
          <Banner tone="bad" title={view.ended ? "The run has failed" : "Something went wrong"}>
            <p>{view.error.message}</p>
            {view.error.code && <p className="mt-1 font-mono text-xs text-soft">{view.error.code}</p>}
          </Banner>
        )}
        <WaitsFor id={id} kind={kind} view={view} names={names} />
        {x && <InputOutput run={x} ended={view.ended} />}
        {x?.approvals && (
          <Card title="What needs approval">
            <Policies of={x.approvals} />
          </Card>
        )}
        {tasks.error && (
          <ErrorBanner error={tasks.error} what="The tasks cannot be read" retry={() => pages.refresh()} />
        )}
        {x && (
          <Timeline
            run={id}
            items={items}
            live={live}
            pages={pages}
            from={Date.parse(x.createdAt)}
            to={view.ended ? Date.parse(x.completedAt ?? x.updatedAt) : null}
            scroller={scroller}
          />
        )}
        <div className="flex flex-wrap gap-2">
          {state.hasOlder && (
            <Button disabled={state.loadingOlder} onClick={() => void live.loadOlder()}>
              {state.loadingOlder ? "Loading…" : "Show earlier waits, signals and questions"}
            </Button>
          )}
          {tasks.more && <Button onClick={() => pages.readMore()}>Show more tasks</Button>}
        </div>
      </div>
    </div>
  );
}

const namesOf = (tasks: readonly TaskLine[]) => new Map(tasks.map((t) => [t.id, taskName(t)]));

function InputOutput({ run, ended }: { run: Execution; ended: boolean }) {
  const gone = run.status === "FAILED" || run.status === "CANCELLED";
  return (
    <div className="grid gap-4 md:grid-cols-2">
      <Card title="Input">
        <FoldedJson label="Input" value={run.input} bytes={run.inputBytes} />
      </Card>
      <Card title="Output">
        {run.status === "COMPLETED" ? (
          <FoldedJson label="Output" value={run.output} bytes={run.outputBytes} />
        ) : (
          <p className="text-sm text-faint">
            {ended && gone ? "None: the run did not complete." : "None yet."}
          </p>
        )}
      </Card>
    </div>
  );
}
