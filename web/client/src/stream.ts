import { asError, PerdureError } from "./errors";
import type { LogEvent } from "./events";
import { EventParser, type RawEvent } from "./sse";
import type { Query, Transport } from "./transport";

/**
 * The position at which a stream begins. If no member is set, it is the start of the log.
 */
export interface Position {
  /** A cursor, exact to the byte. Takes precedence. */
  cursor?: string | undefined;
  /** All events after this seq, and the blocks that were open then, whole. */
  afterSeq?: number | undefined;
}

export interface StreamRequest {
  executionId: string;
  /** `agent` leaves out `task.*` and `terminal`; `consolidated` has everything. */
  stream: "agent" | "consolidated";
  render?: "html" | undefined;
  /** Milliseconds without a byte after which the connection is considered dead. */
  idle: number;
}

/**
 * Yields the events of one connection. It returns after `end`, if the log has already ended
 * (204), and after an abort. If the connection ends in another way, also if the stream
 * closes without `end`, it throws PerdureError.
 */
export async function* readStream(
  transport: Transport,
  request: StreamRequest,
  from: Position,
  signal: AbortSignal,
): AsyncGenerator<LogEvent, void> {
  const url = transport.url(pathOf(request), queryOf(request, from));
  const headers: Record<string, string> = from.cursor ? { "Last-Event-ID": from.cursor } : {};
  for await (const raw of readEvents(transport, url, headers, request.idle, signal)) {
    const e = { cursor: raw.id, event: raw.event, data: JSON.parse(raw.data) } as LogEvent;
    yield e;
    if (e.event === "end") return;
  }
}

/**
 * Yields the server-sent events of one connection. It returns on 204 and after an abort. If
 * the connection ends in another way, it throws PerdureError.
 */
export async function* readEvents(
  transport: Transport,
  url: string,
  headers: Record<string, string>,
  idle: number,
  signal: AbortSignal,
): AsyncGenerator<RawEvent, void> {
  const watch = new Watch(signal, idle);
  try {
    const answer = await transport.send("GET", url, {
      headers: { Accept: "text/event-stream", ...headers },
      signal: watch.signal,
    });
    if (answer.status === 204) return;
    yield* eventsOf(answer, watch);
  } catch (thrown) {
    if (signal.aborted) return;
    throw asError(watch.signal.aborted ? watch.signal.reason : thrown);
  } finally {
    watch.end();
  }
}

function pathOf(r: StreamRequest): string {
  const path = `/agent-executions/${encodeURIComponent(r.executionId)}/stream`;
  return r.stream === "consolidated" ? `${path}/consolidated` : path;
}

function queryOf(r: StreamRequest, from: Position): Query {
  return { render: r.render, after_seq: from.cursor ? undefined : from.afterSeq };
}

async function* eventsOf(answer: Response, watch: Watch): AsyncGenerator<RawEvent, void> {
  if (!answer.headers.get("Content-Type")?.startsWith("text/event-stream") || !answer.body) {
    throw new PerdureError("unavailable", "what answers is no stream of events");
  }
  const decoder = new TextDecoder();
  const parser = new EventParser();
  const reader = answer.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) throw new PerdureError("unavailable", "the stream was cut: it closed without the event end");
      watch.alive();
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    // Runs also if the caller stops early. The connection may already be closed.
    reader.cancel().catch(() => undefined);
  }
}

/** Aborts a connection on which nothing arrives, or whose caller aborts. */
class Watch {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #idle: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(outer: AbortSignal, idle: number) {
    this.#outer = outer;
    this.#idle = idle;
    if (outer.aborted) this.#stop();
    outer.addEventListener("abort", this.#stop);
    this.alive();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  alive(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#controller.abort(new PerdureError("unavailable", `nothing came for ${this.#idle / 1000} s`));
    }, this.#idle);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener("abort", this.#stop);
    this.#controller.abort();
  }

  readonly #stop = () => this.#controller.abort();
}
