import type { LogEvent, SnapshotData } from "../src/events";
import { hasSeq, pieceOf } from "../src/events";
import type { Log } from "./log";

/** The faults of one connection. */
export interface Fault {
  /** The number of bytes after which it is cut; undefined for no cut. */
  cut?: number | undefined;
  /** The connection closes normally, but without `end`. */
  clean?: boolean | undefined;
  /** The stream begins this number of records before the requested position. */
  rewind?: number | undefined;
  duplicate?: number | undefined; // index of a frame that is sent twice
  swap?: number | undefined; // index of a frame that is swapped with the next
  drop?: number | undefined; // index of a frame that is lost
  /** The maximum number of bytes per write. */
  piece?: number | undefined;
}

/** Serves the streams of one ended log as docs/api.md specifies them, with faults. */
export class FakeServer {
  readonly asked: { lastEventId: string | null; afterSeq: string | null }[] = [];
  epoch = "";
  /** Called for each connection after the first. */
  onCut: () => void = () => undefined;
  readonly #faults: Fault[];
  #log: Log;

  constructor(log: Log, faults: Fault[] = []) {
    this.#log = log;
    this.#faults = [...faults];
  }

  /** Replaces the log by another one. */
  restore(log: Log, epoch: string): void {
    this.#log = log;
    this.epoch = epoch;
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const url = new URL(String(input));
    const headers = new Headers(init?.headers);
    const lastEventId = headers.get("Last-Event-ID");
    const afterSeq = url.searchParams.get("after_seq");
    if (this.asked.push({ lastEventId, afterSeq }) > 1) this.onCut();
    const fault = this.#faults.shift() ?? {};
    const frames = this.#frames(url.pathname.endsWith("/consolidated"), lastEventId, afterSeq, fault);
    if (frames === null) return new Response(null, { status: 204 });
    return streamOf(disturbed(frames, fault).join(""), fault, init?.signal ?? undefined);
  };

  #frames(all: boolean, lastEventId: string | null, afterSeq: string | null, fault: Fault): string[] | null {
    const frames: string[] = [];
    let from = 0;
    const [epoch = "", pos = ""] = lastEventId === null ? [] : lastEventId.split(":");
    if (lastEventId !== null && epoch !== this.epoch) {
      frames.push(
        frame(`${this.epoch}:0`, "reset", {
          reason: "epoch",
          firstAvailable: 1,
          lastSeq: lastSeq(this.#log),
        }),
      );
    } else if (lastEventId !== null) {
      from = Math.max(0, Number(pos) - (fault.rewind ?? 0));
      if (from >= this.#log.length) return null;
    } else if (afterSeq !== null) {
      from = this.#log.findIndex((e) => hasSeq(e) && e.data.seq > Number(afterSeq));
      if (from < 0) return null;
      for (const b of blocksAcross(this.#log, Number(afterSeq))) {
        if (all || b.type !== "terminal") frames.push(frame(`${this.epoch}:${from}`, "snapshot", b));
      }
    }
    frames.push(...this.#records(all, from));
    frames.push(frame(`${this.epoch}:${this.#log.length}`, "end", {}));
    return frames;
  }

  #records(all: boolean, from: number): string[] {
    const frames: string[] = [];
    let spared = 0;
    let shown = 0;
    this.#log.forEach((e, i) => {
      if (!hasSeq(e)) return;
      const kept = all || !(e.event.startsWith("task.") || e.event === "terminal");
      if (!kept) {
        spared = Math.max(spared, e.data.seq);
        if (i >= from && i % 3 === 0) frames.push(frame(`${this.epoch}:${i + 1}`, "ping", {}));
        return;
      }
      if (i >= from) {
        const data = all ? e.data : { ...e.data, prevSeq: spared, prevShown: shown };
        frames.push(frame(`${this.epoch}:${i + 1}`, e.event, data));
      }
      shown = Math.max(shown, e.data.seq);
    });
    return frames;
  }
}

function frame(id: string, event: string, data: object): string {
  return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

const lastSeq = (log: Log) => Math.max(...log.map((e) => (hasSeq(e) ? e.data.seq : 0)));

/**
 * Returns the blocks up to the seq that close after it, each as a whole, without superseded
 * ones.
 */
export function blocksAcross(log: Log, seq: number): SnapshotData[] {
  const closed = new Map<number, { at: number; superseded: boolean }>();
  for (const e of log) {
    if (e.event === "block.closed") {
      closed.set(e.data.blockSeq, { at: e.data.seq, superseded: e.data.reason === "superseded" });
    }
  }
  const blocks = new Map<number, SnapshotData>();
  for (const e of log) {
    const piece = pieceOf(e);
    if (!piece || !hasSeq(e) || e.data.seq > seq || (closed.get(e.data.seq)?.at ?? Infinity) <= seq) continue;
    if (closed.get(e.data.seq)?.superseded) continue;
    const whole = (before: string) => before + piece.text;
    const held = blocks.get(e.data.seq);
    const data = piece.data.data;
    const text = typeof held?.data === "object" ? held.data.delta : (held?.data ?? "");
    blocks.set(e.data.seq, {
      ...(held ?? (piece.data as SnapshotData)),
      type: piece.type,
      snapshot: true,
      offset: 0,
      data: typeof data === "object" ? { ...data, delta: whole(text) } : whole(text),
    } as SnapshotData);
  }
  return [...blocks.values()];
}

function disturbed(frames: string[], fault: Fault): string[] {
  const out = [...frames];
  const at = (n: number) => n % out.length;
  if (fault.swap !== undefined && out.length > 1) {
    const i = fault.swap % (out.length - 1);
    [out[i], out[i + 1]] = [out[i + 1]!, out[i]!];
  }
  if (fault.duplicate !== undefined) out.splice(at(fault.duplicate), 0, out[at(fault.duplicate)]!);
  if (fault.drop !== undefined) out.splice(at(fault.drop), 1);
  return out;
}

function streamOf(text: string, fault: Fault, signal?: AbortSignal): Response {
  const whole = new TextEncoder().encode(text);
  const bytes = fault.cut === undefined ? whole : whole.subarray(0, fault.cut % whole.length);
  const piece = Math.max(1, fault.piece ?? bytes.length);
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(c) {
      if (signal?.aborted) c.error(signal.reason);
      else if (at < bytes.length) {
        c.enqueue(bytes.slice(at, at + piece));
        at += piece;
      } else if (bytes.length === whole.length || fault.clean) c.close();
      else c.error(new Error("connection reset"));
    },
  });
  return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
}

/**
 * Returns the messages that a client holds after an undisturbed read, in a form that can be
 * compared.
 */
export function plainMessages(messages: readonly import("../src/messages").Message[]): unknown[] {
  return messages.map((m) =>
    m.kind === "block"
      ? { seq: m.seq, type: m.type, text: m.text, bytes: m.bytes, state: m.state }
      : {
          seq: m.seq,
          event: m.event.event,
          data: { ...(m.event as LogEvent).data, prevSeq: undefined, prevShown: undefined },
        },
  );
}
