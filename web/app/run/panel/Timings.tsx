import { useMemo } from "react";
import { useNow } from "../../components/now";
import { type Span, spansOf } from "../../fold/timings";
import { duration } from "../../text/format";
import type { PanelProps } from "./SidePanel";

const bars: Record<Span["kind"], string> = { turn: "bg-line-strong", model: "bg-accent", tool: "bg-good" };

/** The maximum number of turns drawn. Of more turns, the newest are drawn. */
const most = 200;

/** A waterfall of the held part of the run: turns, with their model calls and tools. */
export function Timings({ live, state }: PanelProps) {
  const now = useNow();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the log changes in place, with the view
  const spans = useMemo(() => spansOf(live.follower.held.messages), [live, state.view]);
  const shown = newest(spans);
  if (shown.length === 0) return <p className="p-4 text-sm text-faint">Nothing has run yet.</p>;
  const turns = groups(shown);
  return (
    <div className="space-y-4 p-4">
      <p className="flex gap-4 text-xs text-faint">
        <Legend look={bars.model}>model</Legend>
        <Legend look={bars.tool}>tool</Legend>
      </p>
      {shown.length < spans.length && <p className="text-xs text-faint">The newest {most} turns.</p>}
      {turns.map((t) => (
        <Turn key={t[0]?.id} spans={t} now={now} />
      ))}
      {state.hasOlder && (
        <p className="text-xs text-faint">Older turns show once the conversation is scrolled up to them.</p>
      )}
    </div>
  );
}

function Legend({ look, children }: { look: string; children: string }) {
  return (
    <span className="flex items-center gap-1.5">
      <span className={`h-2 w-4 rounded-sm ${look}`} aria-hidden="true" />
      {children}
    </span>
  );
}

function newest(spans: Span[]): Span[] {
  const turns = spans.filter((s) => s.kind === "turn");
  const from = turns[turns.length - most];
  return from ? spans.slice(spans.indexOf(from)) : spans;
}

function groups(spans: Span[]): Span[][] {
  const all: Span[][] = [];
  for (const s of spans) {
    if (s.kind === "turn") all.push([]);
    all.at(-1)?.push(s);
  }
  return all;
}

function Turn({ spans, now }: { spans: Span[]; now: number }) {
  const turn = spans[0];
  if (!turn) return null;
  const end = turn.end ?? Math.max(now, turn.start);
  const whole = Math.max(1, end - turn.start);
  return (
    <section aria-label={turn.label}>
      <h3 className="mb-1 flex justify-between text-xs font-medium">
        {turn.label}
        <span className="font-normal text-faint tabular-nums">{duration(end - turn.start)}</span>
      </h3>
      <ul className="space-y-1">
        {spans.slice(1).map((s) => {
          const to = Math.max(s.end ?? now, s.start);
          return (
            <li key={s.id} className="flex items-center gap-2 text-xs">
              <span className="w-24 shrink-0 truncate font-mono text-soft" title={s.label}>
                {s.label}
                {s.attempt > 1 && ` (${s.attempt})`}
              </span>
              <span className="relative h-3.5 flex-1 rounded bg-sunken">
                <span
                  className={`absolute inset-y-0 min-w-0.5 rounded ${s.outcome === "failed" ? "bg-bad" : bars[s.kind]} ${s.end === null ? "breathe" : ""}`}
                  style={{
                    left: `${((s.start - turn.start) / whole) * 100}%`,
                    width: `${((to - s.start) / whole) * 100}%`,
                  }}
                />
              </span>
              <span className="w-14 shrink-0 text-right text-faint tabular-nums">
                {duration(to - s.start)}
              </span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
