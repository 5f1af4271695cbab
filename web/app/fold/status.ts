import { type Execution, type Phase, phaseOf, type Status, type WaitReason } from "../../client/src/index";

export type Tone = "busy" | "good" | "warn" | "bad" | "idle";

/** A status in a user's words. */
export interface Shown {
  label: string;
  tone: Tone;
  /**
   * The run works without action of the user. False while it waits for its user, and after its end.
   */
  busy: boolean;
}

const ends: Partial<Record<Status, Shown>> = {
  COMPLETED: { label: "Completed", tone: "good", busy: false },
  FAILED: { label: "Failed", tone: "bad", busy: false },
  CANCELLED: { label: "Cancelled", tone: "idle", busy: false },
};

const phases: Record<Exclude<Phase, "ended">, Shown> = {
  queued: { label: "Starting", tone: "busy", busy: true },
  working: { label: "Working", tone: "busy", busy: true },
  asks: { label: "Asks", tone: "warn", busy: false },
  your_turn: { label: "Your turn", tone: "warn", busy: false },
  sleeping: { label: "Sleeping", tone: "idle", busy: false },
  cancelling: { label: "Cancelling", tone: "bad", busy: true },
};

/**
 * Returns the words for a status, which depend on the wait's reason. A wait for a task is not the
 * end of a turn.
 */
export function shownStatus(
  status: Status,
  reason: WaitReason | null,
  phase = phaseOf(status, reason),
): Shown {
  if (phase === "ended") return ends[status] ?? { label: status, tone: "idle", busy: false };
  return phases[phase];
}

/** Returns why a pending run waits for another worker, or null if it does not. */
export function neededWorker(run: Pick<Execution, "status" | "needsFeatures">): string | null {
  const features = run.needsFeatures ?? [];
  if (run.status !== "PENDING" || features.length === 0) return null;
  return `needs a worker with ${features.join(", ")}`;
}
