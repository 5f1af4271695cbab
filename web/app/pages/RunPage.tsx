import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, memo, Suspense, useCallback, useEffect, useMemo, useState } from "react";
import type { ExecutionView, PerdureError, Phase } from "../../client/src/index";
import { AnyRun } from "../any/AnyRun";
import { NoWorker } from "../any/NoWorker";
import { heed } from "../api/client";
import { useLiveRun, useLiveState } from "../api/live";
import { inputQuery, runQuery } from "../api/queries";
import { Banner, ErrorBanner, Spinner } from "../components/ui";
import { recordsNotice } from "../fold/records";
import { rowsOf } from "../fold/rows";
import { chatKind, turnFailed } from "../fold/status";
import { signalsOf } from "../fold/wait";
import { OpenQuestions } from "../questions/OpenQuestions";
import { Composer } from "../run/Composer";
import { Conversation } from "../run/Conversation";
import { isAtWork, RunProvider } from "../run/context";
import { Failure, TurnLimit } from "../run/Failure";
import { RunHeader } from "../run/RunHeader";
import { titleOf } from "../text/format";

const SidePanel = lazy(() => import("../run/panel/SidePanel"));

const route = getRouteApi("/ai/runs/$runId");

/** One live run. Another run is another page and shares no state with this one. */
export function RunPage() {
  const { runId } = route.useParams();
  return <Run key={runId} id={runId} />;
}

function Run({ id }: { id: string }) {
  const live = useLiveRun(id);
  const state = useLiveState(live);
  const { view, prompts, connection } = state;
  const { panel } = route.useSearch();
  const input = useQuery(inputQuery(id));
  const rows = useMemo(() => rowsOf(view, prompts), [view, prompts]);
  const [finding, setFinding] = useState(false);
  const atWork = isAtWork(view);
  const context = useMemo(() => ({ live, connection, running: atWork }), [live, connection, atWork]);
  const older = useCallback(() => void live.loadOlder(), [live]);
  const send = useCallback((text: string) => live.send(text), [live]);
  useEffect(() => heed(state.error), [state.error]);

  const kind = input.data?.kind;
  const title = input.data ? titleOf(input.data.input, input.data.kind) : "Run";
  const known = view.status !== null;
  const { status, phase, ended, compacting, error, stopReason, checkpoint } = view;
  const failed = kind !== undefined && status !== null && turnFailed({ status, kind, wait: view.wait });
  const speaks = view.messages.at(-1)?.stored === false;
  const over = connection === "failed" ? state.error : null;
  // Memoized, so that growing text does not draw it again.
  const tail = useMemo(
    () => (
      <Tail
        id={id}
        status={status}
        phase={phase}
        ended={ended}
        speaks={speaks}
        compacting={compacting}
        error={error}
        failed={failed}
        limited={stopReason === "turn_limit"}
        checkpoint={checkpoint}
        over={over}
      />
    ),
    [id, status, phase, ended, speaks, compacting, error, failed, stopReason, checkpoint, over],
  );
  const chats = kind === chatKind;
  const conversation = (
    <Conversation
      rows={rows}
      hasOlder={state.hasOlder}
      loadingOlder={state.loadingOlder}
      onOlder={older}
      onSend={send}
      tail={chats ? tail : null}
      finding={finding}
      onFinding={setFinding}
    >
      {(chats || signalsOf(view.wait).includes(userMessage)) && (
        <Composer
          input={known ? view.input : undefined}
          asks={chats && phase === "asks"}
          ended={view.ended}
        />
      )}
    </Conversation>
  );
  if (connection === "failed" && !known) {
    return (
      <div className="mx-auto max-w-2xl p-6">
        <title>Run · Perdure</title>
        <h1 className="sr-only">Run</h1>
        <ErrorBanner error={state.error} what="This run cannot be shown" retry={() => location.reload()} />
        <Link
          to="/ai/runs"
          search={{}}
          className="mt-4 inline-block text-accent-strong underline underline-offset-2"
        >
          All runs
        </Link>
      </div>
    );
  }
  return (
    <RunProvider value={context}>
      <title>{`${title} · Perdure`}</title>
      <div className="flex h-full flex-col">
        <RunHeader
          id={id}
          title={title}
          kind={kind}
          status={status}
          waitReason={view.waitReason}
          wait={view.wait}
          phase={phase}
          checkpoint={view.checkpoint}
          reconnecting={connection === "waiting"}
          onFind={setFinding}
        />
        <Announce
          phase={view.status && kind ? view.phase : null}
          words={!chats ? runWords : failed ? failedWords : chatWords}
        />
        <div className="flex min-h-0 flex-1">
          {!kind && <Unknown error={input.error} />}
          {kind && !chats && (
            <AnyRun
              id={id}
              kind={kind}
              live={live}
              state={state}
              conversation={rows.length > 0 ? conversation : null}
            />
          )}
          {chats && conversation}
          {panel && (
            <Suspense>
              <SidePanel id={id} panel={panel} chats={chats} live={live} state={state} />
            </Suspense>
          )}
        </div>
      </div>
    </RunProvider>
  );
}

/** Shows the current activity, or an error, after the last message. */
function Tail({
  id,
  status,
  phase,
  ended,
  speaks,
  compacting,
  error,
  failed,
  limited,
  checkpoint,
  over,
}: Pick<ExecutionView, "checkpoint" | "status" | "phase" | "ended" | "compacting" | "error"> & {
  id: string;
  /** An answer is being streamed, which shows that the run works. */
  speaks: boolean;
  /** The newest turn has failed, and can be repeated. */
  failed: boolean;
  /** The newest answer has ended at the limit of turns. */
  limited: boolean;
  /** The error because of which the connection is closed for good. */
  over: PerdureError | null;
}) {
  return (
    <div className="space-y-3">
      {!status && <Spinner label="Reading the run" />}
      {status && phase === "queued" && <Spinner label="Waiting for a worker" />}
      {(phase === "queued" || (phase === "working" && status === "WAITING")) && (
        <QueueOf id={id} at={`${status} ${phase}`} />
      )}
      {phase === "working" && !speaks && (
        <Spinner label={compacting ? "Summarizing the conversation" : "Working"} />
      )}
      {phase === "asks" && <OpenQuestions run={id} at={`${status} ${phase}`} />}
      {phase === "cancelling" && <Spinner label="Cancelling" />}
      {(error || failed) && <Failure key={checkpoint} id={id} error={error} failed={failed} ended={ended} />}
      {limited && <TurnLimit ended={ended} />}
      {status && !ended && <ManyRecords id={id} at={`${status} ${phase}`} />}
      {status === "CANCELLED" && (
        <Banner tone="idle" title="Cancelled">
          What it did before stays.
        </Banner>
      )}
      {over && <ErrorBanner error={over} what="The connection is over" retry={() => location.reload()} />}
    </div>
  );
}

/** Says that no worker serves the queue of the run. */
function QueueOf({ id, at }: { id: string; at: string }) {
  const run = useQuery(runQuery(id, at));
  return <NoWorker queues={run.data ? [run.data.queue] : []} />;
}

/** Warns that a run makes no checkpoints. */
function ManyRecords({ id, at }: { id: string; at: string }) {
  const run = useQuery(runQuery(id, at));
  const notice = recordsNotice(run.data?.recordsSinceCheckpoint, false);
  if (!notice) return null;
  return (
    <Banner tone="warn" title="Many records since the newest checkpoint">
      {notice} Its agent can make checkpoints, or use agent.Loop.
    </Banner>
  );
}

/** The signal of a message. */
const userMessage = "userMessage";

/** Shown until the kind of the run is known. */
function Unknown({ error }: { error: Error | null }) {
  return (
    <div className="p-6">
      {error ? (
        <ErrorBanner error={error} what="The run cannot be read" />
      ) : (
        <Spinner label="Reading the run" />
      )}
    </div>
  );
}

const runWords: Record<Phase, string> = {
  queued: "The run is about to work.",
  working: "The run is working.",
  asks: "The run asks a question.",
  your_turn: "The run waits for a signal.",
  sleeping: "The run waits for a time.",
  cancelling: "The run is being cancelled.",
  ended: "The run has ended.",
};

const chatWords: Record<Phase, string> = {
  queued: "The agent is about to work.",
  working: "The agent is working.",
  asks: "The agent asks a question.",
  your_turn: "The agent has answered and waits for you.",
  sleeping: "The agent sleeps.",
  cancelling: "The run is being cancelled.",
  ended: "The run has ended.",
};

const failedWords: Record<Phase, string> = { ...chatWords, your_turn: "The turn has failed." };

/** Announces changes of the phase to users of screen readers. */
const Announce = memo(function Announce({
  phase,
  words,
}: {
  phase: Phase | null;
  words: Record<Phase, string>;
}) {
  return (
    <p role="status" className="sr-only">
      {phase ? words[phase] : ""}
    </p>
  );
});
