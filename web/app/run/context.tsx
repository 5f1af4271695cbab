import { createContext, useContext } from "react";
import type { Connection, ExecutionView } from "../../client/src/index";
import type { LiveRun } from "../api/live";

export interface RunContext {
  live: LiveRun;
  connection: Connection;
  /** Something goes on by itself. What the log left open does not run where this is false. */
  running: boolean;
}

const Context = createContext<RunContext | null>(null);
export const RunProvider = Context.Provider;

export function useRun(): RunContext {
  const run = useContext(Context);
  if (!run) throw new Error("useRun is used outside of a run's page");
  return run;
}

/** A tool waits or works only while its run does. */
export function isAtWork(view: Pick<ExecutionView, "running" | "phase">): boolean {
  return view.running || view.phase === "sleeping";
}
