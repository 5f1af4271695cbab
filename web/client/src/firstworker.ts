import { type Clock, systemClock } from "./backoff";
import { PerdureError } from "./errors";

/** How long, in milliseconds, a start waits for the first worker of an org. */
export const workerWait = 10_000;

export interface FirstWorkerOptions {
  /** Called once, before the first delay. */
  onWait?: (() => void) | undefined;
  signal?: AbortSignal | undefined;
  clock?: Clock | undefined;
}

/**
 * Repeats a request while the server refuses it because no worker of the org has ever
 * registered. This refusal means that nothing was stored; after other errors `unavailable`
 * that is unknown.
 */
export async function awaitWorker<T>(send: () => Promise<T>, o: FirstWorkerOptions = {}): Promise<T> {
  const clock = o.clock ?? systemClock;
  for (let left = workerWait; ; ) {
    try {
      return await send();
    } catch (thrown) {
      if (!noWorkerYet(thrown) || left <= 0 || o.signal?.aborted) throw thrown;
      if (left === workerWait) o.onWait?.();
      const pause = Math.min(thrown.retryAfter, left);
      left -= pause;
      await clock.sleep(pause, o.signal);
    }
  }
}

function noWorkerYet(thrown: unknown): thrown is PerdureError {
  return (
    thrown instanceof PerdureError &&
    thrown.code === "unavailable" &&
    thrown.retryAfter > 0 &&
    thrown.fields.some((f) => f.location === "kind")
  );
}
