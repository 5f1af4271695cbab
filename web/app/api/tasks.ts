import { useEffect, useRef, useSyncExternalStore } from "react";
import { TaskPages, type TasksState } from "../fold/tasks";
import { api } from "./client";

/** The tasks and steps of a run. `at` changes when there may be others. */
export function useTasks(id: string, at: string): { pages: TaskPages; state: TasksState } {
  const held = useRef<TaskPages | null>(null);
  held.current ??= new TaskPages((cursor, limit) =>
    api().executions.tasks(id, { limit, steps: true, ...(cursor ? { cursor } : {}) }),
  );
  const pages = held.current;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `at` says when to read again
  useEffect(() => pages.refresh(), [pages, at]);
  return { pages, state: useSyncExternalStore(pages.subscribe, () => pages.state) };
}
