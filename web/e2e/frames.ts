import type { CDPSession, Page } from "@playwright/test";

interface TraceEvent {
  name: string;
  ph: string;
  ts: number;
  dur?: number;
  tdur?: number;
  pid: number;
  tid: number;
  args?: { name?: string };
}

/** The work of the page's main thread during a time span, in milliseconds per frame. */
export interface Frames {
  frames: number;
  /** Scripts alone. */
  scripting: Spread;
  /** The total of scripts, style, layout and painting. */
  all: Spread;
}

export interface Spread {
  median: number;
  p99: number;
  most: number;
}

/** Traces the page while `during` runs. */
export async function framesOf(page: Page, during: () => Promise<void>): Promise<Frames> {
  const cdp = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  cdp.on("Tracing.dataCollected", ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  await cdp.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: {
      includedCategories: ["devtools.timeline", "toplevel", "disabled-by-default-devtools.timeline"],
    },
  });
  await during();
  await ended(cdp);
  await cdp.detach();
  return spread(events);
}

async function ended(cdp: CDPSession): Promise<void> {
  const complete = new Promise((resolve) => cdp.once("Tracing.tracingComplete", resolve));
  await cdp.send("Tracing.end");
  await complete;
}

const scripts = new Set([
  "FunctionCall",
  "EvaluateScript",
  "TimerFire",
  "FireAnimationFrame",
  "RunMicrotasks",
  "EventDispatch",
  "MajorGC",
  "MinorGC",
  "V8.GC_MC_BACKGROUND_SWEEPING",
]);

/** Splits events into frames. A frame lasts from one begin event to the next. */
function spread(events: TraceEvent[]): Frames {
  const scripted = events.filter((e) => e.ph === "X" && scripts.has(e.name));
  const main = mostOf(scripted);
  const own = events.filter((e) => `${e.pid} ${e.tid}` === main).sort((a, b) => a.ts - b.ts);
  const begins = own.filter((e) => e.name === "BeginCommitCompositorFrame").map((e) => e.ts);
  const tasks = outermost(own.filter((e) => e.ph === "X" && /RunTask$/.test(e.name)));
  const script = outermost(own.filter((e) => e.ph === "X" && scripts.has(e.name)));
  return {
    frames: Math.max(0, begins.length - 1),
    scripting: spreadOf(perFrame(script, begins)),
    all: spreadOf(perFrame(tasks, begins)),
  };
}

function mostOf(events: TraceEvent[]): string {
  const time = new Map<string, number>();
  for (const e of events) {
    const of = `${e.pid} ${e.tid}`;
    time.set(of, (time.get(of) ?? 0) + (e.dur ?? 0));
  }
  return [...time].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "";
}

/** Returns the events that are not inside another event. */
function outermost(sorted: TraceEvent[]): TraceEvent[] {
  let end = 0;
  return sorted.filter((e) => {
    if (e.ts < end) return false;
    end = e.ts + (e.dur ?? 0);
    return true;
  });
}

function perFrame(events: TraceEvent[], begins: number[]): number[] {
  const sums = new Array<number>(Math.max(0, begins.length - 1)).fill(0);
  let at = 0;
  for (const e of events) {
    while (at + 1 < begins.length && e.ts >= (begins[at + 1] ?? 0)) at++;
    if (e.ts >= (begins[at] ?? 0) && at < sums.length)
      sums[at] = (sums[at] ?? 0) + (e.tdur ?? e.dur ?? 0) / 1000;
  }
  return sums;
}

function spreadOf(ms: number[]): Spread {
  const sorted = [...ms].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { median: at(0.5), p99: at(0.99), most: sorted.at(-1) ?? 0 };
}
