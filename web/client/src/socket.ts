import { Backoff } from "./backoff";
import { asError, type ErrorCode, PerdureError } from "./errors";
import type { LogEvent } from "./events";
import { Following, type FollowOptions } from "./following";
import type { Page } from "./held";
import type { Prompt } from "./prompts";
import type { Execution, ImagePart, Status } from "./types";

/**
 * The part of a WebSocket that is used. The WebSockets of browsers, of Node and of `ws`
 * have it.
 */
export interface WebSocketLike {
  send(text: string): void;
  close(code?: number, reason?: string): void;
  onopen: ((e: never) => void) | null;
  onmessage: ((e: never) => void) | null;
  onclose: ((e: never) => void) | null;
  onerror: ((e: never) => void) | null;
}

/**
 * Opens a WebSocket. A browser cannot send headers; its cookie and the subprotocols carry
 * its session. Elsewhere the headers carry the key, and there are no subprotocols: `(url,
 * headers) => new WS(url, { headers })`.
 */
export type OpenWebSocket = (
  url: string,
  headers: Record<string, string>,
  protocols: string[],
) => WebSocketLike;

export interface SocketFollowOptions extends FollowOptions {
  open?: OpenWebSocket;
  /**
   * The number of newest events to begin with, and of events per load (1 to 1000). Default
   * 50.
   */
  limit?: number;
  /** Milliseconds between two keepalives. Default 20,000. */
  keepalive?: number;
  /** Called with each new live event, after it was processed. */
  onEvent?: (e: LogEvent) => void;
}

/** The calls of the API that the socket uses. */
export interface SocketApi {
  /** Returns the URL of the execution's WebSocket. */
  url(executionId: string): string;
  credentials(): Record<string, string>;
  protocols(): string[];
  get(executionId: string, signal: AbortSignal): Promise<Execution>;
  /** Sends a prompt that is too large for a message of the socket. */
  prompt(executionId: string, prompt: Prompt, signal: AbortSignal): Promise<void>;
}

type FromServer =
  | { type: "connected"; data: { agent_execution_id: string; status: Status; max_seq: number } }
  | { type: "events_loaded"; data: Page }
  | { type: "event"; data: LogEvent }
  | { type: "keepalive_ack"; data: { max_seq: number } }
  | { type: "prompt_ack"; data: { prompt_id: string } }
  | { type: "error"; data: { code: ErrorCode; message: string; prompt_id?: string } };

/** The maximum size of a message to the server in bytes. */
const frameLimit = 1 << 20;
/** The maximum number of events in a page. */
const pageLimit = 1000;

interface Waiting {
  resolve(): void;
  reject(error: PerdureError): void;
}

/** A requested page of older events. */
interface Older extends Waiting {
  sent: boolean;
}

/**
 * Follows an execution over a WebSocket: first the newest events, then live events, and
 * older events on demand. After a lost connection, the held messages determine where to
 * continue.
 */
export class SocketFollower extends Following {
  readonly #api: SocketApi;
  readonly #id: string;
  readonly #options: SocketFollowOptions;
  readonly #stop = new AbortController();
  readonly #backoff: Backoff;
  readonly #acks = new Map<string, Waiting & { data: object }>(); // sent, or to be sent, by prompt id
  #socket: WebSocketLike | null = null;
  #ready = false; // the server has sent connected
  #older: Older[] = [];
  #hasOlder = true;
  #over = false; // the log is held to its end; older pages can still be read
  #behind = 0; // the newest held seq, if the last keepalive reported a newer one
  #lost: (error: PerdureError) => void = () => undefined;
  #ended: () => void = () => undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(api: SocketApi, executionId: string, options: SocketFollowOptions = {}) {
    super((p, signal) => this.#sendPrompt(p, signal), options);
    this.#api = api;
    this.#id = executionId;
    this.#options = options;
    this.#backoff = new Backoff(options.clock, options);
    void this.#run();
  }

  /** There may be events before the held ones. */
  get hasOlder(): boolean {
    return this.#hasOlder;
  }

  /** Loads the page before the held events. It also works after the run has ended. */
  loadOlder(): Promise<void> {
    if (!this.held.messages[0] || !(this.#ready || this.#over)) {
      return Promise.reject(new PerdureError("unavailable", "there is no connection"));
    }
    return new Promise((resolve, reject) => {
      this.#older.push({ resolve, reject, sent: false });
      this.#sendOlder();
      if (!this.#socket) this.#connect().catch(() => undefined); // the waiting callers have been told
    });
  }

  #sendOlder(): void {
    const before = this.held.messages[0]?.seq;
    for (const o of this.#older) {
      if (!this.#ready || o.sent) continue;
      o.sent = true;
      this.#send("load_events", { before_seq: before, limit: this.#options.limit ?? 50 });
    }
  }

  /** Shows a prompt at once, and sends it until the server has it. */
  prompt(text: string, id?: string, images?: readonly ImagePart[]): Prompt {
    return this.prompts.add(text, id, images);
  }

  /** Requests the cancellation of the run. */
  cancel(): void {
    this.#send("cancel");
  }

  /** Stops following. The execution is not affected. */
  stop(): void {
    if (this.connection === "failed") return;
    this.#stop.abort();
    this.prompts.stop();
    this.#lost(new PerdureError("unavailable", "following was stopped"));
    if (this.connection !== "ended") this.stands("stopped");
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      let cut: PerdureError;
      try {
        await this.#connect();
        this.#over = true;
        this.stands("ended", null);
        this.#giveUp(new PerdureError("execution_ended", "the run has ended"));
        return;
      } catch (thrown) {
        cut = asError(thrown);
      }
      if (signal.aborted) return;
      cut = await this.#why(cut, signal);
      if (!cut.retryable) {
        this.stands("failed", cut);
        this.#giveUp(cut);
        return;
      }
      this.cuts++;
      this.stands("waiting", cut);
      await this.#backoff.pause(signal, cut.retryAfter);
    }
  }

  /**
   * Finds out by a request why a connection was refused, because a WebSocket does not
   * report it.
   */
  async #why(cut: PerdureError, signal: AbortSignal): Promise<PerdureError> {
    if (!cut.retryable || cut.message !== refused) return cut;
    try {
      await this.#api.get(this.#id, signal);
      return cut;
    } catch (thrown) {
      return asError(thrown);
    }
  }

  /**
   * Opens one connection. Resolves at the end of the log, rejects when the connection is
   * lost.
   */
  #connect(): Promise<void> {
    const open = this.#options.open ?? openPlatform;
    let socket: WebSocketLike;
    try {
      socket = open(this.#api.url(this.#id), this.#api.credentials(), this.#api.protocols());
    } catch (thrown) {
      return Promise.reject(thrown);
    }
    this.#socket = socket;
    return new Promise<void>((resolve, reject) => {
      this.#ended = () => this.#leave(socket, resolve);
      this.#lost = (error) => {
        this.#leave(socket, () => reject(error));
      };
      let opened = false;
      socket.onopen = () => {
        opened = true;
      };
      socket.onmessage = (e: { data: unknown }) => this.#message(String(e.data));
      socket.onerror = () => undefined; // a close event follows and is handled
      socket.onclose = (e: { code: number; reason: string }) => this.#lost(closed(opened, e.code, e.reason));
      this.#watch();
    });
  }

  #leave(socket: WebSocketLike, settle: () => void): void {
    if (this.#socket !== socket) return;
    clearTimeout(this.#timer);
    this.#socket = null;
    this.#ready = false;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
    const error = new PerdureError("unavailable", "the connection was lost");
    for (const w of this.#older) w.reject(error);
    this.#older = [];
    settle();
  }

  /** Sends a keepalive at intervals. Closes a connection on which nothing arrives. */
  #watch(quiet = 0): void {
    const every = this.#options.keepalive ?? 20_000;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const idle = quiet + every;
      if (idle > (this.#options.idle ?? 45_000)) {
        this.#lost(new PerdureError("unavailable", `nothing came for ${idle / 1000} s`));
        return;
      }
      if (this.#ready) this.#send("keepalive");
      this.#watch(idle);
    }, every);
  }

  #send(type: string, data: unknown = {}): void {
    try {
      this.#socket?.send(JSON.stringify({ type, data }));
    } catch (thrown) {
      this.#lost(asError(thrown));
    }
  }

  #message(text: string): void {
    this.#watch();
    const m = JSON.parse(text) as FromServer;
    switch (m.type) {
      case "connected":
        this.#ready = true;
        if (this.#over) {
          this.#sendOlder();
          break;
        }
        if (this.held.messages.length === 0) this.base = { status: m.data.status };
        this.#sync();
        for (const { data } of this.#acks.values()) this.#send("prompt", data);
        break;
      case "events_loaded":
        this.#page(m.data);
        break;
      case "event":
        this.#event(m.data);
        break;
      case "keepalive_ack":
        this.#compare(m.data.max_seq);
        break;
      case "prompt_ack":
        this.#settle(m.data.prompt_id, (w) => w.resolve());
        break;
      case "error":
        this.#refused(m.data);
    }
  }

  /**
   * Requests the missing events, and the newest held event once more. If that event
   * differs, the log is another one.
   */
  #sync(): void {
    if (this.held.messages.length === 0) {
      this.#send("load_events", { limit: this.#options.limit ?? 50 });
      return;
    }
    this.#send("load_events", { after_seq: Math.max(0, this.held.syncSeq - 1), limit: pageLimit });
  }

  #page(page: Page): void {
    if (page.is_stale_client) this.#forget();
    else if (this.held.contradicts(page)) {
      this.#forget();
      this.#sync();
      return;
    }
    const fresh = this.held.messages.length === 0;
    const outcome = this.held.load(page);
    if (page.prepend || fresh) this.#hasOlder = page.has_more;
    if (page.prepend) this.#older.shift()?.resolve();
    if (this.#over) {
      if (this.#older.length === 0) this.#ended();
      this.changed();
      return;
    }
    if (outcome === "gap") {
      this.#forget();
      this.#sync();
      return;
    }
    for (const e of page.events) if (e.event === "signal.received") this.prompts.seen(e.data.signalId);
    this.#backoff.worked();
    if (page.has_more && !page.prepend && !fresh) {
      this.#send("load_events", { after_seq: page.last_seq, limit: pageLimit });
    } else if (this.connection !== "live") {
      this.stands("live");
    }
    this.changed();
  }

  #event(e: LogEvent): void {
    if (e.event === "end") {
      this.#ended();
      return;
    }
    if (e.event === "reset") {
      this.#forget();
      this.held.reset(e.data.firstAvailable - 1);
      return;
    }
    const outcome = this.held.apply(e);
    if (outcome === "gap") this.#lost(new PerdureError("unavailable", "an event is missing"));
    if (outcome !== "taken") return;
    this.#backoff.worked();
    if (e.event === "signal.received") this.prompts.seen(e.data.signalId);
    this.changed();
    this.#options.onEvent?.(e);
  }

  #forget(): void {
    this.held.reset();
    this.dropped();
    this.#hasOlder = true;
    this.changed();
  }

  /**
   * Handles two reports of a seq newer than the held ones, without an event between them.
   */
  #compare(maxSeq: number): void {
    const held = this.held.lastSeenSeq;
    if (maxSeq > held && this.#behind === held) this.#sync();
    this.#behind = maxSeq > held ? held : 0;
  }

  #settle(promptId: string, how: (w: Waiting) => void): void {
    const w = this.#acks.get(promptId);
    this.#acks.delete(promptId);
    if (w) how(w);
  }

  #refused(d: { code: ErrorCode; message: string; prompt_id?: string }): void {
    const error = new PerdureError(d.code, d.message);
    if (d.prompt_id !== undefined) {
      this.#settle(d.prompt_id, (w) => w.reject(error));
      return;
    }
    // The error does not name the refused message. Callers that wait for a page can ask
    // again.
    for (const w of this.#older.filter((o) => o.sent)) w.reject(error);
    this.#older = this.#older.filter((o) => !o.sent);
    if (this.#over && this.#older.length === 0) this.#ended();
    else this.stands(this.connection, error);
  }

  #sendPrompt(p: Prompt, signal: AbortSignal): Promise<void> {
    const data = { prompt_id: p.id, text: p.text };
    const size = new TextEncoder().encode(JSON.stringify(data)).length;
    if (p.images.length > 0 || size > frameLimit - 100) return this.#api.prompt(this.#id, p, signal);
    return new Promise((resolve, reject) => {
      const done = (then: () => void) => {
        signal.removeEventListener("abort", stop);
        then();
      };
      const stop = () => this.#settle(p.id, (w) => w.reject(new PerdureError("unavailable", "stopped")));
      signal.addEventListener("abort", stop);
      this.#acks.set(p.id, {
        data,
        resolve: () => done(resolve),
        reject: (e) => done(() => reject(e)),
      });
      if (this.#ready) this.#send("prompt", data);
    });
  }

  /** Rejects the prompts that wait for an acknowledgement. */
  #giveUp(error: PerdureError): void {
    for (const id of [...this.#acks.keys()]) this.#settle(id, (w) => w.reject(error));
  }
}

const refused = "the WebSocket was refused";

function closed(opened: boolean, code: number, reason: string): PerdureError {
  if (!opened) return new PerdureError("unavailable", refused);
  if (code === 1008) return new PerdureError("unauthenticated", reason || "the key is revoked");
  return new PerdureError("unavailable", `the WebSocket was closed: ${code} ${reason}`.trimEnd());
}

function openPlatform(url: string, _: Record<string, string>, protocols: string[]): WebSocketLike {
  const Platform = (globalThis as { WebSocket?: new (url: string, protocols: string[]) => WebSocketLike })
    .WebSocket;
  if (!Platform) throw new PerdureError("invalid_argument", "there is no WebSocket here: give `open`");
  return new Platform(url, protocols);
}
