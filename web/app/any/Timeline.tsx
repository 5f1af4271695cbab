import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  type RefObject,
  useDeferredValue,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import type { LiveRun } from "../api/live";
import { useNow } from "../components/now";
import { SearchField } from "../components/SearchField";
import type { TaskPages } from "../fold/tasks";
import { type Item, matching, type Outcome } from "../fold/timeline";
import { clock, duration, timeOf } from "../text/format";
import { ItemDetails } from "./ItemDetails";

const bars: Record<Item["kind"], string> = {
  task: "bg-accent",
  step: "bg-good",
  wait: "bg-line-strong",
  signal: "bg-busy",
  question: "bg-warn",
};

const words: Record<Outcome, string> = {
  open: "text-busy",
  done: "text-good",
  failed: "text-bad",
  stopped: "text-faint",
};

export interface TimelineProps {
  run: string;
  items: readonly Item[];
  live: LiveRun;
  pages: TaskPages;
  /** The times of the scale, in milliseconds since the epoch. The end is null while the run goes on. */
  from: number;
  to: number | null;
  scroller: RefObject<HTMLDivElement | null>;
}

/** All items of a run on one scale, with a search. Only the rows in view are drawn. */
export function Timeline({ items, from, to, scroller, ...rest }: TimelineProps) {
  const [wanted, setWanted] = useState("");
  const settled = useDeferredValue(wanted);
  const shown = useMemo(() => matching(items, settled), [items, settled]);
  const now = useNow();
  const end = Math.max(to ?? now, from + 1, items.at(-1)?.start ?? 0);
  return (
    <section aria-label="Timeline">
      <div className="mb-2 flex flex-wrap items-center gap-x-4 gap-y-2">
        <h2 className="text-sm font-semibold">Timeline</h2>
        <SearchField
          label="Search the timeline"
          placeholder="Kind, status, text"
          value={wanted}
          onChange={setWanted}
        />
        <span role="status" className="text-xs whitespace-nowrap text-faint tabular-nums">
          {shown.length === items.length ? items.length : `${shown.length} of ${items.length}`}
        </span>
      </div>
      <p className="flex justify-between text-xs text-faint tabular-nums" aria-hidden="true">
        <span>{timeOf(new Date(from).toISOString())}</span>
        <span>{duration(end - from)}</span>
        <span>{to === null ? "now" : timeOf(new Date(to).toISOString())}</span>
      </p>
      {shown.length === 0 ? (
        <p className="rounded-xl border border-line bg-surface px-4 py-6 text-center text-sm text-faint">
          {items.length === 0 ? "Nothing has happened yet." : "Nothing is like that."}
        </p>
      ) : (
        <Rows shown={shown} from={from} end={end} now={now} scroller={scroller} {...rest} />
      )}
    </section>
  );
}

function Rows({
  shown,
  from,
  end,
  now,
  scroller,
  ...rest
}: Omit<TimelineProps, "items" | "to"> & { shown: readonly Item[]; end: number; now: number }) {
  const [open, setOpen] = useState<string | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const [above, setAbove] = useState(0);
  // Runs after every change, because what is above the list can have grown.
  useLayoutEffect(() => {
    const box = scroller.current;
    if (!box || !list.current) return;
    const top = list.current.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop;
    if (Math.abs(top - above) > 1) setAbove(top);
  });
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 41,
    getItemKey: (i) => shown[i]?.id ?? i,
    overscan: 12,
    scrollMargin: above,
    useFlushSync: false,
  });
  return (
    <ul
      ref={list}
      aria-label="What happened"
      onKeyDown={moveFocus}
      className="relative overflow-hidden rounded-xl border border-line bg-surface"
      style={{ height: virtual.getTotalSize() + 2 }}
    >
      {virtual.getVirtualItems().map((row) => {
        const item = shown[row.index];
        if (!item) return null;
        return (
          <li
            key={row.key}
            ref={virtual.measureElement}
            data-index={row.index}
            data-item={item.kind}
            aria-setsize={shown.length}
            aria-posinset={row.index + 1}
            className="absolute inset-x-0 top-0 border-b border-line"
            style={{ transform: `translateY(${row.start - above}px)` }}
          >
            <Row
              item={item}
              from={from}
              end={end}
              now={now}
              open={open === item.id}
              onOpen={() => setOpen(open === item.id ? null : item.id)}
            />
            {open === item.id && <ItemDetails item={item} {...rest} />}
          </li>
        );
      })}
    </ul>
  );
}

/** Moves the focus with the arrow keys from row to row. */
function moveFocus(e: KeyboardEvent<HTMLUListElement>): void {
  const step = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
  const at = (e.target as HTMLElement).closest<HTMLElement>("button[data-row]");
  if (step === 0 || !at) return;
  const all = [...e.currentTarget.querySelectorAll<HTMLElement>("button[data-row]")];
  const rows = all.sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top);
  rows[rows.indexOf(at) + step]?.focus();
  e.preventDefault();
}

function Row({
  item,
  from,
  end,
  now,
  open,
  onOpen,
}: {
  item: Item;
  from: number;
  end: number;
  now: number;
  open: boolean;
  onOpen: () => void;
}) {
  const to = Math.max(item.end ?? now, item.start);
  const whole = end - from;
  const place = (at: number) => Math.min(100, Math.max(0, ((at - from) / whole) * 100));
  const took = item.kind === "signal" ? clock(new Date(item.start).toISOString()) : duration(to - item.start);
  return (
    <button
      type="button"
      data-row
      aria-expanded={open}
      onClick={onOpen}
      className="grid w-full grid-cols-[4.5rem_1fr_auto] items-center gap-x-3 gap-y-1.5 px-4 py-2.5 text-left text-sm hover:bg-sunken focus-visible:-outline-offset-2 sm:grid-cols-[4.5rem_13rem_1fr_7.5rem_4.5rem]"
    >
      <span className="text-xs text-faint">{item.kind}</span>
      <span className="min-w-0 truncate font-mono text-[13px]" title={item.label}>
        {item.label}
        {item.task && item.task.attempt > 1 && ` (try ${item.task.attempt})`}
      </span>
      <span className="relative h-3 rounded bg-sunken max-sm:order-last max-sm:col-span-3" aria-hidden="true">
        <span
          data-bar
          className={`absolute inset-y-0 min-w-1 rounded ${item.outcome === "failed" ? "bg-bad" : bars[item.kind]} ${item.outcome === "open" ? "breathe" : ""}`}
          style={{
            left: `min(${place(item.start)}%, 100% - 4px)`,
            width: `${place(to) - place(item.start)}%`,
          }}
        />
      </span>
      <span className={`truncate text-xs max-sm:hidden ${words[item.outcome]}`}>{item.status}</span>
      <span className="text-right text-xs text-faint tabular-nums">
        <span className={`sm:hidden ${words[item.outcome]}`}>{item.status} </span>
        {took}
      </span>
    </button>
  );
}
