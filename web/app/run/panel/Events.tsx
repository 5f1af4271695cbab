import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef, useState } from "react";
import type { Message } from "../../../client/src/index";
import { inputClass } from "../../components/ui";
import { clock } from "../../text/format";
import { Json } from "./parts";
import type { PanelProps } from "./SidePanel";

/** The held part of the run's log, newest first. */
export function Events({ live, state }: PanelProps) {
  const [wanted, setWanted] = useState("");
  const [open, setOpen] = useState<number | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const held = live.follower.held.messages;
  const shown = wanted ? held.filter((m) => nameOf(m).includes(wanted)) : held;
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => box.current,
    estimateSize: () => 33,
    getItemKey: (i) => shown[shown.length - 1 - i]?.seq ?? i,
    overscan: 10,
    useFlushSync: false,
  });
  return (
    <div className="flex h-full flex-col">
      <div className="flex items-center gap-3 border-b border-line px-4 py-2">
        <input
          aria-label="Filter events"
          placeholder="Filter, as task or token"
          value={wanted}
          onChange={(e) => setWanted(e.target.value)}
          className={`${inputClass} py-1`}
        />
        <span className="text-xs whitespace-nowrap text-faint tabular-nums">
          {shown.length}
          {state.hasOlder && "+"}
        </span>
      </div>
      <div
        ref={box}
        tabIndex={0}
        role="group"
        aria-label="Events"
        className="min-h-0 flex-1 overflow-y-auto focus-visible:-outline-offset-2"
      >
        <div className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const m = shown[shown.length - 1 - item.index];
            if (!m) return null;
            return (
              <div
                key={item.key}
                ref={virtual.measureElement}
                data-index={item.index}
                className="absolute inset-x-0 top-0"
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <button
                  type="button"
                  aria-expanded={open === m.seq}
                  onClick={() => setOpen(open === m.seq ? null : m.seq)}
                  className="flex w-full items-baseline gap-2.5 border-b border-line px-4 py-1.5 text-left font-mono text-xs hover:bg-sunken focus-visible:-outline-offset-2"
                >
                  <span className="w-10 text-right text-faint">{m.seq}</span>
                  <span className="font-medium whitespace-nowrap">{nameOf(m)}</span>
                  <span className="min-w-0 flex-1 truncate text-faint">{gist(m)}</span>
                  <span className="text-faint">{clock(m.createdAt)}</span>
                </button>
                {open === m.seq && (
                  <div className="p-2">
                    <Json
                      label={`Event ${m.seq}`}
                      value={m.kind === "event" ? m.event.data : { ...m.data, data: m.text, state: m.state }}
                    />
                  </div>
                )}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

const nameOf = (m: Message) => (m.kind === "event" ? m.event.event : m.type);

/** Returns the summary that distinguishes an event from its neighbours. */
function gist(m: Message): string {
  if (m.kind === "block") return `${m.bytes} B ${m.state}`;
  const d = m.event.data as Record<string, unknown>;
  const inner = d.data as { type?: string } | undefined;
  for (const v of [d.kind, inner?.type, d.role, d.reason, d.status, d.signalName, d.sequence]) {
    if (typeof v === "string" || typeof v === "number") return String(v);
  }
  return "";
}
