import { createContext, useContext } from "react";
import type { Connection, ExecutionView } from "../../client/src/index";
import type { LiveRun } from "../api/live";

export interface RunContext {
  live: LiveRun;
  connection: Connection;
  /**
   * The run works without action of the user. If it is false, calls that have no result in the log
   * are not shown as running.
   */
  running: boolean;
}

const Context = createContext<RunContext | null>(null);
export const RunProvider = Context.Provider;

export function useRun(): RunContext {
  const run = useContext(Context);
  if (!run) throw new Error("useRun is used outside of a run's page");
  return run;
}

/**
 * Reports whether a run's tools may be shown as waiting or running. They may while the run works or
 * waits for a timer.
 */
export function isAtWork(view: Pick<ExecutionView, "running" | "phase">): boolean {
  return view.running || view.phase === "sleeping";
}
