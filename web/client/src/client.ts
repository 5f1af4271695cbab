import { Backoff, type Clock } from "./backoff";
import { asError } from "./errors";
import type { EventPage, LogEvent, Snapshot } from "./events";
import { awaitWorker } from "./firstworker";
import { StreamFollower, type StreamFollowOptions } from "./follower";
import { type Prompt, valueOfPrompt } from "./prompts";
import { SocketFollower, type SocketFollowOptions } from "./socket";
import { type Position, readStream, type StreamRequest } from "./stream";
import { type Query, Transport, type TransportOptions } from "./transport";
import type {
  APIKey,
  Checkpoint,
  Content,
  Definition,
  DefinitionBody,
  Entry,
  Execution,
  KeyRole,
  List,
  LoginReply,
  NewKey,
  Session,
  SignalBody,
  SignalReply,
  StartBody,
  Status,
  Task,
} from "./types";
import { contentOf } from "./view";

export interface Paging {
  limit?: number;
  cursor?: string;
  signal?: AbortSignal;
}

export interface ExecutionFilter extends Paging {
  status?: Status | Status[];
  kind?: string;
  agentDefinitionId?: string;
  createdAfter?: string;
  createdBefore?: string;
  /** Top-level members of the metadata, compared as text. */
  metadata?: Record<string, string>;
  /** Stands in the id, the kind or the first 4 KiB of the input. */
  q?: string;
}

export interface EventsOptions {
  after?: string;
  limit?: number;
  signal?: AbortSignal;
}

export interface StreamOptions extends Position {
  stream?: StreamRequest["stream"];
  render?: "html";
  idle?: number;
  signal?: AbortSignal;
}

/** The API of one org of a server; docs/api.md has its meaning. All methods throw PerdureError. */
export class PerdureClient {
  readonly executions: Executions;
  readonly definitions: Definitions;
  readonly keys: Keys;
  readonly sessions: Sessions;
  readonly #transport: Transport;

  constructor(options: TransportOptions = {}) {
    this.#transport = new Transport(options);
    this.executions = new Executions(this.#transport);
    this.definitions = new Definitions(this.#transport);
    this.keys = new Keys(this.#transport);
    this.sessions = new Sessions(this.#transport);
  }

  /**
   * Trades a key for a session. The browser's cookie holds one half of it, and this
   * client sends the other, `session`, from then on.
   */
  async login(key: string): Promise<LoginReply> {
    const answer = await this.#transport.send("POST", `${this.#transport.base}/api/login`, { body: { key } });
    const reply = (await answer.json()) as LoginReply;
    this.#transport.half = reply.session;
    return reply;
  }

  /** Ends the session. */
  async logout(): Promise<void> {
    await this.#transport.send("POST", `${this.#transport.base}/api/logout`);
    this.#transport.half = undefined;
  }
}

const pathOf = (id: string) => `/agent-executions/${encodeURIComponent(id)}`;

export class Executions {
  readonly #t: Transport;

  constructor(transport: Transport) {
    this.#t = transport;
  }

  /**
   * Starts an execution. The same idempotency key gives the same execution again.
   * Before any worker of the org has registered it waits for one, up to 10 s; `onWait`
   * is called once if it has to.
   */
  create(
    body: StartBody,
    options: { idempotencyKey?: string; signal?: AbortSignal; onWait?: () => void; clock?: Clock } = {},
  ): Promise<Execution> {
    const { idempotencyKey: key, signal, onWait, clock } = options;
    const headers = key ? { "Idempotency-Key": key } : undefined;
    const send = () => this.#t.json<Execution>("POST", "/agent-executions", { body, headers, signal });
    return awaitWorker(send, { onWait, signal, clock });
  }

  /** A page of executions, newest first, without input and output. */
  list(filter: ExecutionFilter = {}): Promise<List<Execution>> {
    const { signal, metadata = {}, ...rest } = filter;
    const query: Query = { ...rest };
    for (const [key, value] of Object.entries(metadata)) query[`metadata.${key}`] = value;
    return this.#t.json("GET", "/agent-executions", { query, signal });
  }

  get(id: string, signal?: AbortSignal): Promise<Execution> {
    return this.#t.json("GET", pathOf(id), { signal });
  }

  /** Cancels; one that has ended stays as it is. */
  cancel(id: string, signal?: AbortSignal): Promise<Execution> {
    return this.#t.json("DELETE", pathOf(id), { signal });
  }

  /** Sends a signal. The same signalId again changes nothing. */
  signal(id: string, body: SignalBody, signal?: AbortSignal): Promise<SignalReply> {
    return this.#t.json("POST", `${pathOf(id)}/signal`, { body, signal });
  }

  /** The path of entries, root to leaf; with `all` every entry. */
  entries(id: string, options: Paging & { all?: boolean } = {}): Promise<List<Entry>> {
    const { signal, ...query } = options;
    return this.#t.json("GET", `${pathOf(id)}/entries`, { query: { ...query }, signal });
  }

  entry(id: string, entryId: string, signal?: AbortSignal): Promise<Entry> {
    return this.#t.json("GET", `${pathOf(id)}/entries/${encodeURIComponent(entryId)}`, { signal });
  }

  /**
   * An entry with its content, however large that is. Of a LOCAL execution it comes
   * through its worker: `unavailable` says which one is away, and since when.
   */
  async wholeEntry(id: string, entryId: string, signal?: AbortSignal): Promise<Entry> {
    const entry = await this.entry(id, entryId, signal);
    if (contentOf(entry) || !entry.contentSha256) return entry;
    const answer = await this.#t.send("GET", this.#t.url(`${pathOf(id)}/content/${entry.contentSha256}`), {
      signal,
    });
    // A worker keeps the entry's metadata as a member of the content.
    const { metadata, ...content } = (await answer.json()) as Content & { metadata?: unknown };
    return metadata === undefined ? { ...entry, content } : { ...entry, content, metadata };
  }

  tasks(id: string, options: Paging & { steps?: boolean } = {}): Promise<List<Task>> {
    const { signal, ...query } = options;
    return this.#t.json("GET", `${pathOf(id)}/tasks`, { query: { ...query }, signal });
  }

  checkpoints(id: string, options: Paging = {}): Promise<List<Checkpoint>> {
    const { signal, ...query } = options;
    return this.#t.json("GET", `${pathOf(id)}/checkpoints`, { query: { ...query }, signal });
  }

  /** A checkpoint by its number, with its state. */
  checkpoint(id: string, sequence: number, signal?: AbortSignal): Promise<Checkpoint> {
    return this.#t.json("GET", `${pathOf(id)}/checkpoints/${sequence}`, { signal });
  }

  /** A page of the log after a cursor, or from the start. */
  events(id: string, options: EventsOptions = {}): Promise<EventPage> {
    const { signal, ...query } = options;
    return this.#t.json("GET", `${pathOf(id)}/events`, { query: { ...query }, signal });
  }

  /** The execution, its newest entries and open blocks, and the cursor at which they hold. */
  snapshot(id: string, options: { entries?: number; signal?: AbortSignal } = {}): Promise<Snapshot> {
    return this.#t.json("GET", `${pathOf(id)}/snapshot`, {
      query: { entries: options.entries },
      signal: options.signal,
    });
  }

  /**
   * The events of the log as they come, to its end, through any number of cuts.
   * Nothing is held: an event can come twice after a cut, and `reset` is the
   * caller's to heed. `follow` does all that.
   */
  async *stream(id: string, options: StreamOptions = {}): AsyncGenerator<LogEvent, void> {
    const signal = options.signal ?? new AbortController().signal;
    const request: StreamRequest = {
      executionId: id,
      stream: options.stream ?? "consolidated",
      render: options.render,
      idle: options.idle ?? 45_000,
    };
    const backoff = new Backoff();
    let from: Position = { cursor: options.cursor, afterSeq: options.afterSeq };
    while (!signal.aborted) {
      try {
        for await (const e of readStream(this.#t, request, from, signal)) {
          backoff.worked();
          if (e.cursor) from = { cursor: e.cursor };
          yield e;
        }
        return;
      } catch (thrown) {
        const cut = asError(thrown);
        if (!cut.retryable) throw cut;
        await backoff.pause(signal, cut.retryAfter);
      }
    }
  }

  async #prompt(id: string, p: Prompt, signal: AbortSignal): Promise<void> {
    const body = { signalName: "userMessage", signalValue: valueOfPrompt(p), signalId: p.id };
    await this.signal(id, body, signal);
  }

  /** Follows an execution over server-sent events. */
  follow(id: string, options: StreamFollowOptions = {}): StreamFollower {
    return new StreamFollower(
      this.#t,
      {
        snapshot: (of, o) => this.snapshot(of, o),
        prompt: (of, p, signal) => this.#prompt(of, p, signal),
      },
      id,
      options,
    );
  }

  /** Follows an execution over a WebSocket. */
  connect(id: string, options: SocketFollowOptions = {}): SocketFollower {
    return new SocketFollower(
      {
        url: (of) => this.#t.url(`${pathOf(of)}/ws`).replace(/^http/, "ws"),
        credentials: () => this.#t.credentials(),
        protocols: () => this.#t.protocols(),
        get: (of, signal) => this.get(of, signal),
        prompt: (of, p, signal) => this.#prompt(of, p, signal),
      },
      id,
      options,
    );
  }
}

export class Definitions {
  readonly #t: Transport;

  constructor(transport: Transport) {
    this.#t = transport;
  }

  create(body: DefinitionBody, signal?: AbortSignal): Promise<Definition> {
    return this.#t.json("POST", "/agent-definitions", { body, signal });
  }

  list(paging: Paging = {}): Promise<List<Definition>> {
    const { signal, ...query } = paging;
    return this.#t.json("GET", "/agent-definitions", { query: { ...query }, signal });
  }

  get(id: string, signal?: AbortSignal): Promise<Definition> {
    return this.#t.json("GET", `/agent-definitions/${encodeURIComponent(id)}`, { signal });
  }

  /** Replaces the whole; with `ifMatch` another version than that is a `conflict`. */
  replace(
    id: string,
    body: DefinitionBody,
    options: { ifMatch?: number; signal?: AbortSignal } = {},
  ): Promise<Definition> {
    const { ifMatch, signal } = options;
    return this.#t.json("PUT", `/agent-definitions/${encodeURIComponent(id)}`, {
      body,
      headers: ifMatch === undefined ? undefined : { "If-Match": `"${ifMatch}"` },
      signal,
    });
  }

  delete(id: string, signal?: AbortSignal): Promise<void> {
    return this.#t.json("DELETE", `/agent-definitions/${encodeURIComponent(id)}`, { signal });
  }
}

/** The org's keys; they take a key of role admin. */
export class Keys {
  readonly #t: Transport;

  constructor(transport: Transport) {
    this.#t = transport;
  }

  /** Makes a key. The answer has its secret, which is not shown again. */
  create(body: { name: string; role: KeyRole }, signal?: AbortSignal): Promise<NewKey> {
    return this.#t.json("POST", "/keys", { body, signal });
  }

  /** All keys, revoked ones too. */
  list(signal?: AbortSignal): Promise<List<APIKey>> {
    return this.#t.json("GET", "/keys", { signal });
  }

  /** Revokes a key; it stops within 5 s, open streams too. */
  revoke(id: string, signal?: AbortSignal): Promise<APIKey> {
    return this.#t.json("DELETE", `/keys/${encodeURIComponent(id)}`, { signal });
  }
}

/** The sessions of browsers: of the org for a key of role admin, else those of the key. */
export class Sessions {
  readonly #t: Transport;

  constructor(transport: Transport) {
    this.#t = transport;
  }

  list(options: Paging = {}): Promise<List<Session>> {
    const { signal, ...query } = options;
    return this.#t.json("GET", "/sessions", { query: { ...query }, signal });
  }

  /** Ends a session; it stops within 5 s, open streams too. */
  revoke(id: string, signal?: AbortSignal): Promise<Session> {
    return this.#t.json("DELETE", `/sessions/${encodeURIComponent(id)}`, { signal });
  }
}

/** All items of a list, page by page: `itemsOf((cursor) => client.executions.list({ cursor }))`. */
export async function* itemsOf<T>(page: (cursor?: string) => Promise<List<T>>): AsyncGenerator<T, void> {
  for (let cursor: string | undefined; ; ) {
    const { items, nextCursor } = await page(cursor);
    yield* items;
    if (nextCursor === null) return;
    cursor = nextCursor;
  }
}
