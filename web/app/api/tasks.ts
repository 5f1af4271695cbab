import { useEffect, useRef, useSyncExternalStore } from "react";
import { TaskPages, type TasksState } from "../fold/tasks";
import { api } from "./client";

/** The pause between two readings while a run records steps, which its log does not have. */
const often = 2_000;

/**
 * The tasks and steps of a run. `at` changes when there may be others; while the run is `running`,
 * there may be at any time.
 */
export function useTasks(id: string, at: string, running: boolean): { pages: TaskPages; state: TasksState } {
  const held = useRef<TaskPages | null>(null);
  held.current ??= new TaskPages((cursor, limit) =>
    api().executions.tasks(id, { limit, steps: true, ...(cursor ? { cursor } : {}) }),
  );
  const pages = held.current;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `at` says when to read again
  useEffect(() => pages.refresh(), [pages, at]);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => pages.refresh(), often);
    return () => clearInterval(timer);
  }, [pages, running]);
  return { pages, state: useSyncExternalStore(pages.subscribe, () => pages.state) };
}
