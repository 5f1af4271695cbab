import {
  createRootRoute,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  Link,
  lazyRouteComponent,
  redirect,
} from "@tanstack/react-router";
import { Page, Shell } from "./components/Shell";
import { ErrorBanner, Spinner } from "./components/ui";
import { type StatusFilter, statusFilters } from "./fold/status";

/** The search parameters in the address of the list. Unknown parameters are dropped. */
export interface RunsSearch {
  status?: StatusFilter;
  q?: string;
  agent?: string;
}

export const panels = ["overview", "timings", "tasks", "checkpoints", "tree", "events"] as const;
export type Panel = (typeof panels)[number];

export interface RunSearch {
  panel?: Panel;
}

const text = (v: unknown): string | undefined => (typeof v === "string" && v !== "" ? v : undefined);

const rootRoute = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: Broken });

const home = createRoute({
  getParentRoute: () => rootRoute,
  path: "/ai",
  beforeLoad: () => {
    throw redirect({ to: "/ai/runs", search: {} });
  },
});

const runs = createRoute({
  getParentRoute: () => rootRoute,
  path: "/ai/runs",
  validateSearch: (s: Record<string, unknown>): RunsSearch => {
    const status = statusFilters.find((f) => f.status === s.status)?.status;
    const q = text(s.q);
    const agent = text(s.agent);
    return { ...(status ? { status } : {}), ...(q ? { q } : {}), ...(agent ? { agent } : {}) };
  },
  component: lazyRouteComponent(() => import("./pages/RunsPage"), "RunsPage"),
});

const newRun = createRoute({
  getParentRoute: () => rootRoute,
  path: "/ai/runs/new",
  validateSearch: (s: Record<string, unknown>): { agent?: string; kind?: string } => {
    const agent = text(s.agent);
    const kind = text(s.kind);
    return agent ? { agent } : kind ? { kind } : {};
  },
  component: lazyRouteComponent(() => import("./pages/NewRunPage"), "NewRunPage"),
});

const run = createRoute({
  getParentRoute: () => rootRoute,
  path: "/ai/runs/$runId",
  validateSearch: (s: Record<string, unknown>): RunSearch =>
    panels.includes(s.panel as Panel) ? { panel: s.panel as Panel } : {},
  component: lazyRouteComponent(() => import("./pages/RunPage"), "RunPage"),
});

const agents = createRoute({
  getParentRoute: () => rootRoute,
  path: "/ai/agents",
  component: lazyRouteComponent(() => import("./pages/AgentsPage"), "AgentsPage"),
});

const newAgent = createRoute({
  getParentRoute: () => rootRoute,
  path: "/ai/agents/new",
  component: lazyRouteComponent(() => import("./pages/AgentPage"), "NewAgentPage"),
});

const agent = createRoute({
  getParentRoute: () => rootRoute,
  path: "/ai/agents/$agentId",
  component: lazyRouteComponent(() => import("./pages/AgentPage"), "AgentPage"),
});

const questions = createRoute({
  getParentRoute: () => rootRoute,
  path: "/ai/questions",
  component: lazyRouteComponent(() => import("./pages/QuestionsPage"), "QuestionsPage"),
});

const settings = createRoute({
  getParentRoute: () => rootRoute,
  path: "/ai/settings",
  component: lazyRouteComponent(() => import("./pages/SettingsPage"), "SettingsPage"),
});

const workers = createRoute({
  getParentRoute: () => rootRoute,
  path: "/ai/workers",
  component: lazyRouteComponent(() => import("./pages/WorkersPage"), "WorkersPage"),
});

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    home,
    runs,
    newRun,
    run,
    agents,
    newAgent,
    agent,
    questions,
    workers,
    settings,
  ]),
  defaultPreload: "intent",
  scrollRestoration: true,
  defaultPendingComponent: () => (
    <div className="p-10">
      <Spinner />
    </div>
  ),
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

function NotFound() {
  return (
    <Page title="There is no such page" lead="The address may be mistyped.">
      <Link to="/ai/runs" search={{}} className="text-accent-strong underline underline-offset-2">
        All runs
      </Link>
    </Page>
  );
}

function Broken({ error, reset }: ErrorComponentProps) {
  return (
    <Page title="This page broke" narrow>
      <ErrorBanner error={error} what="What went wrong" retry={reset} />
    </Page>
  );
}
