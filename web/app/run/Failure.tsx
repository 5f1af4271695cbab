import { useMutation } from "@tanstack/react-query";
import { useRef } from "react";
import type { ExecutionView } from "../../client/src/index";
import { api } from "../api/client";
import { Banner, Button } from "../components/ui";
import { failedTurn, retrySignal } from "../fold/status";

const remedies: Record<string, string> = {
  auth: "The provider does not accept the worker's key. Set the right one where the worker runs.",
  rate_limited: "The provider refuses calls that come too often, or its account has no credit.",
  model_invalid_request:
    "The provider refused the request. If there are images in the conversation, start a run with a model that reads them.",
  model_context_length: "The conversation does not fit into the model's context window.",
  crash_loop: "Its worker ended again and again while it ran. Look at the worker's log.",
  panic: "The agent's code panicked. The worker's log has the stack.",
};

/** The error of a run, and how to go on. An ended run cannot be continued. */
export function Failure({
  id,
  error,
  failed,
  ended,
}: {
  id: string;
  error: ExecutionView["error"];
  /** The newest turn has failed, and can be repeated. */
  failed: boolean;
  ended: boolean;
}) {
  const title = ended ? "The run has failed" : failed ? failedTurn.label : "Something went wrong";
  return (
    <Banner tone="bad" title={title} action={failed && <Retry id={id} />}>
      {error && <p>{error.message}</p>}
      <p className="mt-1 text-soft">
        {remedies[error?.code ?? ""]}{" "}
        {ended
          ? "Start a new run to try again."
          : failed
            ? "Retry repeats the turn. You can also send a message to continue this run."
            : "Send a message to continue this run."}
      </p>
    </Banner>
  );
}

/** Repeats the failed turn. The id belongs to the failure, so pressing twice repeats it once. */
function Retry({ id }: { id: string }) {
  const signalId = useRef("");
  signalId.current ||= [...crypto.getRandomValues(new Uint32Array(4))].map((n) => n.toString(16)).join("");
  const retry = useMutation({
    mutationFn: () => api().executions.signal(id, { signalName: retrySignal, signalId: signalId.current }),
  });
  return (
    <div className="text-right">
      <Button disabled={retry.isPending} onClick={() => retry.mutate()}>
        Retry
      </Button>
      {retry.isError && <p className="mt-1 text-xs">{retry.error.message}</p>}
    </div>
  );
}

export function TurnLimit({ ended }: { ended: boolean }) {
  return (
    <Banner tone="warn" title="The turn limit is reached">
      The agent has made as many model calls as one answer may have, and stopped.{" "}
      {ended ? "Start a run with more turns." : "Send a message to continue."}
    </Banner>
  );
}
