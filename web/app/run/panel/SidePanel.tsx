import { getRouteApi } from "@tanstack/react-router";
import { type KeyboardEvent, useRef } from "react";
import type { LiveRun, LiveState } from "../../api/live";
import { CloseIcon } from "../../components/icons";
import { IconButton } from "../../components/ui";
import { type Panel, panels } from "../../router";
import { Checkpoints } from "./Checkpoints";
import { Events } from "./Events";
import { Overview } from "./Overview";
import { Tasks } from "./Tasks";
import { Timings } from "./Timings";
import { Tree } from "./Tree";

const route = getRouteApi("/ai/runs/$runId");

const titles: Record<Panel, string> = {
  overview: "Overview",
  timings: "Timings",
  tasks: "Tasks",
  checkpoints: "Checkpoints",
  tree: "Tree",
  events: "Events",
};

export interface PanelProps {
  id: string;
  live: LiveRun;
  state: LiveState;
}

/** The details of a run. The address contains which part is shown. Only conversations have turns. */
export default function SidePanel({ panel, chats, ...props }: PanelProps & { panel: Panel; chats: boolean }) {
  const navigate = route.useNavigate();
  return (
    <aside
      aria-label="Details of the run"
      className="flex w-96 shrink-0 flex-col border-l border-line bg-surface max-lg:fixed max-lg:inset-y-0 max-lg:right-0 max-lg:z-20 max-lg:w-full max-lg:max-w-md max-lg:shadow-xl xl:w-[28rem]"
    >
      <div className="flex items-center border-b border-line pr-1.5">
        <Tabs
          panels={panels.filter((p) => chats || p !== "timings")}
          panel={panel}
          onChoose={(p) => void navigate({ search: { panel: p }, replace: true })}
        />
        <IconButton label="Close details" onClick={() => void navigate({ search: {} })}>
          <CloseIcon />
        </IconButton>
      </div>
      <div
        role="tabpanel"
        id="panel"
        aria-labelledby={`tab-${panel}`}
        tabIndex={0}
        className="min-h-0 flex-1 overflow-y-auto focus-visible:-outline-offset-2"
      >
        <Chosen panel={panel} {...props} />
      </div>
    </aside>
  );
}

function Chosen({ panel, ...props }: PanelProps & { panel: Panel }) {
  switch (panel) {
    case "overview":
      return <Overview {...props} />;
    case "timings":
      return <Timings {...props} />;
    case "tasks":
      return <Tasks {...props} />;
    case "checkpoints":
      return <Checkpoints {...props} />;
    case "tree":
      return <Tree {...props} />;
    case "events":
      return <Events {...props} />;
  }
}

function Tabs({
  panels,
  panel,
  onChoose,
}: {
  panels: readonly Panel[];
  panel: Panel;
  onChoose: (p: Panel) => void;
}) {
  const list = useRef<HTMLDivElement>(null);
  const onKey = (e: KeyboardEvent) => {
    const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    e.preventDefault();
    const next = panels[(panels.indexOf(panel) + step + panels.length) % panels.length] ?? panel;
    onChoose(next);
    list.current?.querySelector<HTMLElement>(`#tab-${next}`)?.focus();
  };
  return (
    <div
      ref={list}
      role="tablist"
      aria-label="Details"
      onKeyDown={onKey}
      className="flex min-w-0 flex-1 justify-between overflow-x-auto px-1.5 xl:justify-start"
    >
      {panels.map((p) => (
        <button
          key={p}
          id={`tab-${p}`}
          type="button"
          role="tab"
          aria-selected={p === panel}
          aria-controls="panel"
          tabIndex={p === panel ? 0 : -1}
          onClick={() => onChoose(p)}
          className="-mb-px h-11 border-b-2 border-transparent px-1 text-[13px] whitespace-nowrap xl:px-2 text-soft hover:text-ink focus-visible:-outline-offset-4 aria-selected:border-accent aria-selected:font-medium aria-selected:text-ink"
        >
          {titles[p]}
        </button>
      ))}
    </div>
  );
}
