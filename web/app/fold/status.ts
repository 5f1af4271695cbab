import {
  type Execution,
  type Phase,
  phaseOf,
  type Status,
  type Wait,
  type WaitReason,
} from "../../client/src/index";
import { signalsOf } from "./wait";

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

const ends: Record<"COMPLETED" | "FAILED" | "CANCELLED", Shown> = {
  COMPLETED: { label: "Completed", tone: "good", busy: false },
  FAILED: { label: "Failed", tone: "bad", busy: false },
  CANCELLED: { label: "Cancelled", tone: "idle", busy: false },
};

const phases: Record<Exclude<Phase, "ended">, Shown> = {
  queued: { label: "Queued", tone: "busy", busy: true },
  working: { label: "Working", tone: "busy", busy: true },
  asks: { label: "Asks", tone: "warn", busy: false },
  your_turn: { label: "Your turn", tone: "warn", busy: false },
  sleeping: { label: "Sleeping", tone: "idle", busy: false },
  cancelling: { label: "Cancelling", tone: "bad", busy: true },
};

export const failedTurn: Shown = { label: "Failed turn", tone: "bad", busy: false };

/** What the list of runs can be filtered by. */
export type StatusFilter = Status | "FAILED_TURN";

/**
 * The filters of the list of runs, with their names and what they select. Running and waiting runs are
 * selected by their status, which several words stand for: a run that waits for its model is "Working".
 */
export const statusFilters: readonly { label: string; status: StatusFilter; selects: string }[] = [
  { label: phases.queued.label, status: "PENDING", selects: "Runs that wait for a worker" },
  { label: "Running", status: "RUNNING", selects: "Runs whose agent is on a worker now" },
  {
    label: "Waiting",
    status: "WAITING",
    selects: "Runs that wait for a model or a tool, a person, a signal or a time",
  },
  {
    label: failedTurn.label,
    status: "FAILED_TURN",
    selects: "Waiting conversations whose newest turn has failed",
  },
  { label: phases.cancelling.label, status: "CANCELLING", selects: "Runs that are being cancelled" },
  { label: ends.COMPLETED.label, status: "COMPLETED", selects: "Runs that have ended with an output" },
  { label: ends.FAILED.label, status: "FAILED", selects: "Runs that have ended with an error" },
  { label: ends.CANCELLED.label, status: "CANCELLED", selects: "Runs that were cancelled" },
];

/** The kind whose runs are conversations. */
export const chatKind = "react-agent";

/** What the words for a status depend on. */
export interface Standing {
  status: Status;
  waitReason?: WaitReason | null;
  wait?: Wait | null;
  kind: string;
}

/**
 * Reports whether the newest turn of a conversation has failed. Such a run waits, among others, for
 * the signal that repeats the turn.
 */
export const turnFailed = ({ status, wait, kind }: Standing): boolean =>
  kind === chatKind && status === "WAITING" && signalsOf(wait ?? null).includes(retrySignal);

/** The signal that repeats a failed turn. */
export const retrySignal = "retry";

/**
 * Returns the words for a status, which depend on the wait's reason. A wait for a task is not the
 * end of a turn, and only in a conversation is it the user's turn.
 */
export function shownStatus(of: Standing, phase = phaseOf(of.status, of.waitReason ?? null)): Shown {
  if (phase === "ended")
    return ends[of.status as keyof typeof ends] ?? { label: of.status, tone: "idle", busy: false };
  if (phase === "your_turn" && turnFailed(of)) return failedTurn;
  if (phase === "your_turn" && of.kind !== chatKind) {
    const names = signalsOf(of.wait ?? null);
    return { label: `Waits for ${names.length === 1 ? names[0] : "a signal"}`, tone: "warn", busy: false };
  }
  return phases[phase];
}

/** Returns why a pending run waits for another worker, or null if it does not. */
export function neededWorker(run: Pick<Execution, "status" | "needsFeatures">): string | null {
  const features = run.needsFeatures ?? [];
  if (run.status !== "PENDING" || features.length === 0) return null;
  return `needs a worker with ${features.join(", ")}`;
}
