import {
  infiniteQueryOptions,
  MutationCache,
  QueryCache,
  QueryClient,
  queryOptions,
} from "@tanstack/react-query";
import type { Execution, ExecutionFilter, Usage } from "../../client/src/index";
import { itemsOf, PerdureError } from "../../client/src/index";
import type { StatusFilter } from "../fold/status";
import type { Catalog } from "../forms/draft";
import { api, heed } from "./client";

export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: heed }),
  mutationCache: new MutationCache({ onError: heed }),
  defaultOptions: {
    queries: {
      retry: (n, error) => n < 2 && error instanceof PerdureError && error.retryable,
      staleTime: 2_000,
      networkMode: "always", // the server may be on this machine, without a network
    },
    mutations: { networkMode: "always" },
  },
});

/** The polling interval in milliseconds for data that has no stream. */
const often = 2_000;

/** The polling interval in milliseconds for data on a worker that is away. */
const seldom = 5_000;

export type RunFilter = Pick<ExecutionFilter, "q" | "agentDefinitionId"> & {
  status?: StatusFilter;
};

/**
 * The maximum number of requests for one page of runs. The server examines a bounded number of runs
 * per request.
 */
const lookFurther = 5;

/** The runs, newest first, page by page, polled while the page is in view. */
export const runsQuery = (filter: RunFilter) =>
  infiniteQueryOptions({
    queryKey: ["runs", filter],
    queryFn: ({ pageParam, signal }) => runsPage(filter, pageParam, signal),
    initialPageParam: "",
    getNextPageParam: (last) => last.nextCursor,
    refetchInterval: often,
    placeholderData: (before) => before,
  });

async function runsPage({ status, ...filter }: RunFilter, cursor: string, signal: AbortSignal) {
  const failed = status === "FAILED_TURN";
  const kept = failed ? { failedTurn: true } : status ? { status } : {};
  const ask = (limit: number, from: string) => {
    const at = from ? { cursor: from } : {};
    return api().executions.list({ ...filter, ...kept, limit, signal, ...at });
  };
  const page = await ask(30, cursor);
  for (let n = 1; n < lookFurther && page.items.length < 30 && page.nextCursor !== null; n++) {
    const more = await ask(30 - page.items.length, page.nextCursor);
    page.items.push(...more.items);
    page.nextCursor = more.nextCursor;
  }
  return page;
}

/** The input of a run, which never changes. Lists do not include it. */
export const inputQuery = (id: string) =>
  queryOptions({
    queryKey: ["run", id, "input"],
    queryFn: async ({ signal }) => {
      const { input, kind } = await api().executions.get(id, signal);
      return { input, kind };
    },
    staleTime: Number.POSITIVE_INFINITY,
    // "worker" means a LOCAL run whose worker is away.
    refetchInterval: (q) => (!q.state.data || q.state.data.input === "worker" ? seldom : false),
  });

/** An entry with its content, which never changes. It is polled while its worker is away. */
export const wholeEntryQuery = (id: string, entryId: string) =>
  queryOptions({
    queryKey: ["run", id, "entry", entryId],
    queryFn: ({ signal }) => api().executions.wholeEntry(id, entryId, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: brief,
    retry: false, // show at once that the worker is away
    refetchInterval: (q) =>
      q.state.error instanceof PerdureError && q.state.error.retryable ? seldom : false,
  });

/** `at` changes when the run's row does. */
export const runQuery = (id: string, at: string) =>
  queryOptions({
    queryKey: ["run", id, "row", at],
    queryFn: ({ signal }): Promise<Execution> => api().executions.get(id, signal),
    placeholderData: (before) => before,
    gcTime: brief,
  });

export interface Spent {
  total: Usage | null;
  byModel: Record<string, Usage>;
}

/** The usage of a run as of a checkpoint, from the state that the agent stored there. */
export const usageQuery = (id: string, checkpoint: number) =>
  queryOptions({
    queryKey: ["run", id, "usage", checkpoint],
    queryFn: async (): Promise<Spent> => {
      const { state } = await api().executions.checkpoint(id, checkpoint);
      const s = (state ?? {}) as { totalUsage?: Usage; usageByModel?: Record<string, Usage> };
      return { total: s.totalUsage ?? null, byModel: s.usageByModel ?? {} };
    },
    enabled: checkpoint > 0,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (before: Spent | undefined) => before,
  });

async function all<T>(pages: AsyncGenerator<T>, most = 5_000): Promise<T[]> {
  const items: T[] = [];
  for await (const item of pages) {
    items.push(item);
    if (items.length >= most) break;
  }
  return items;
}

/** How long outdated data is kept, in milliseconds. */
const brief = 10_000;

/** `at` changes when there is more to read. */
export const checkpointsQuery = (id: string, at: number) =>
  queryOptions({
    queryKey: ["run", id, "checkpoints", at],
    queryFn: () => all(itemsOf((cursor) => api().executions.checkpoints(id, page(cursor)))),
    placeholderData: (before) => before,
    gcTime: brief,
  });

export const tasksQuery = (id: string, at: number) =>
  queryOptions({
    queryKey: ["run", id, "tasks", at],
    queryFn: () => all(itemsOf((cursor) => api().executions.tasks(id, { ...page(cursor), steps: true }))),
    placeholderData: (before) => before,
    gcTime: brief,
  });

export const treeQuery = (id: string, at: number) =>
  queryOptions({
    queryKey: ["run", id, "tree", at],
    queryFn: () => all(itemsOf((cursor) => api().executions.entries(id, { ...page(cursor), all: true }))),
    placeholderData: (before) => before,
    gcTime: brief,
  });

export const agentsQuery = () =>
  queryOptions({
    queryKey: ["agents"],
    queryFn: () => all(itemsOf((cursor) => api().definitions.list(page(cursor)))),
  });

export const agentQuery = (id: string) =>
  queryOptions({ queryKey: ["agents", id], queryFn: ({ signal }) => api().definitions.get(id, signal) });

/** The providers and tools that the forms offer. */
export const catalogQuery = () =>
  queryOptions({
    queryKey: ["catalog"],
    queryFn: async (): Promise<Catalog> => {
      const [providers, tools] = await Promise.all([
        all(itemsOf((cursor) => api().catalog.providers(page(cursor)))),
        all(itemsOf((cursor) => api().catalog.tools(page(cursor)))),
      ]);
      return { providers, tools };
    },
  });

/** The kinds that workers have registered. */
export const kindsQuery = () =>
  queryOptions({
    queryKey: ["kinds"],
    queryFn: () => all(itemsOf((cursor) => api().catalog.kinds(page(cursor)))),
  });

export const keysQuery = () =>
  queryOptions({ queryKey: ["keys"], queryFn: async ({ signal }) => (await api().keys.list(signal)).items });

/** The approvals that are remembered. */
export const grantsQuery = () =>
  queryOptions({
    queryKey: ["grants"],
    queryFn: () => all(itemsOf((cursor) => api().questions.grants(page(cursor)))),
    refetchInterval: seldom,
  });

/** The webhooks of the org. The server disables one whose endpoint is gone. */
export const webhooksQuery = () =>
  queryOptions({
    queryKey: ["webhooks"],
    queryFn: async ({ signal }) => (await api().webhooks.list(signal)).items,
    refetchInterval: seldom,
  });

/** The newest deliveries of a webhook, polled. */
export const deliveriesQuery = (id: string) =>
  queryOptions({
    queryKey: ["deliveries", id],
    queryFn: async ({ signal }) => (await api().webhooks.deliveries(id, { limit: 20, signal })).items,
    refetchInterval: often,
  });

/** The current sessions. The server's list changes when sessions expire. */
export const sessionsQuery = () =>
  queryOptions({
    queryKey: ["sessions"],
    queryFn: () => all(itemsOf((cursor) => api().sessions.list(page(cursor)))),
    refetchInterval: seldom,
  });

const page = (cursor?: string) => ({ limit: 500, ...(cursor ? { cursor } : {}) });

/** The newest open questions of the org, polled. With `mine`, those that this key may answer. */
export const inboxQuery = (mine: boolean) =>
  queryOptions({
    queryKey: ["questions", "open", mine],
    queryFn: ({ signal }) =>
      api().questions.list(mine ? { mine, limit: 50, signal } : { status: "open", limit: 50, signal }),
    refetchInterval: often,
    placeholderData: (before) => before,
  });

/** The open questions of a run. `at` changes whenever there may be others. */
export const openOfRunQuery = (run: string, at: string) =>
  queryOptions({
    queryKey: ["questions", "run", run, at],
    queryFn: ({ signal }) =>
      api().questions.list({ agentExecutionId: run, status: "open", limit: 100, signal }),
    refetchInterval: often,
    placeholderData: (before) => before,
  });

/** A question with what is asked about. It is polled while it is open. */
export const questionQuery = (id: string) =>
  queryOptions({
    queryKey: ["questions", "one", id],
    queryFn: ({ signal }) => api().questions.get(id, signal),
    refetchInterval: (q) => (q.state.data?.status === "open" ? often : false),
  });

/** The queues, polled while the page is in view. */
export const queuesQuery = () =>
  queryOptions({
    queryKey: ["queues"],
    queryFn: ({ signal }) => api().queues.list({ limit: 1000, signal }),
    refetchInterval: often,
  });

/** The workers, polled while the page is in view. */
export const workersQuery = () =>
  queryOptions({
    queryKey: ["workers"],
    queryFn: ({ signal }) => api().workers.list({ limit: 1000, signal }),
    refetchInterval: often,
  });
