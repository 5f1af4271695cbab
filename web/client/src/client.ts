import { Backoff, type Clock } from "./backoff";
import { BulkActions } from "./bulk";
import { ModelCalls } from "./calls";
import { asError } from "./errors";
import type { EventPage, LogEvent, Snapshot } from "./events";
import { awaitWorker } from "./firstworker";
import { StreamFollower, type StreamFollowOptions } from "./follower";
import { type Prompt, valueOfPrompt } from "./prompts";
import { Questions } from "./questions";
import { Queues, Workers } from "./queues";
import { SocketFollower, type SocketFollowOptions } from "./socket";
import { type Position, readStream, type StreamRequest } from "./stream";
import { type Query, Transport, type TransportOptions } from "./transport";
import type {
  APIKey,
  Checkpoint,
  Content,
  Context,
  Definition,
  DefinitionBody,
  Entry,
  Execution,
  KeyRole,
  KindInfo,
  List,
  LoginReply,
  NewKey,
  ProviderInfo,
  Session,
  Signal,
  SignalBody,
  SignalReply,
  StartBody,
  Status,
  Task,
  ToolInfo,
} from "./types";
import { contentOf } from "./view";
import { Webhooks } from "./webhooks";

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
  /** Only conversations whose newest turn has failed. */
  failedTurn?: boolean;
  /** A text contained in the id, the kind or the first 4 KiB of the input. */
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

/**
 * The API of one org of a server. docs/api.md describes it. All methods throw PerdureError.
 */
export class PerdureClient {
  readonly executions: Executions;
  readonly definitions: Definitions;
  readonly questions: Questions;
  readonly keys: Keys;
  readonly sessions: Sessions;
  readonly catalog: Catalog;
  readonly webhooks: Webhooks;
  readonly workers: Workers;
  readonly queues: Queues;
  readonly bulkActions: BulkActions;
  readonly modelCalls: ModelCalls;
  readonly #transport: Transport;

  constructor(options: TransportOptions = {}) {
    this.#transport = new Transport(options);
    this.executions = new Executions(this.#transport);
    this.definitions = new Definitions(this.#transport);
    this.questions = new Questions(this.#transport);
    this.keys = new Keys(this.#transport);
    this.sessions = new Sessions(this.#transport);
    this.catalog = new Catalog(this.#transport);
    this.webhooks = new Webhooks(this.#transport);
    this.workers = new Workers(this.#transport);
    this.queues = new Queues(this.#transport);
    this.bulkActions = new BulkActions(this.#transport);
    this.modelCalls = new ModelCalls(this.#transport);
  }

  /**
   * Exchanges a key for a session. The browser's cookie holds one half of it. This client
   * sends the other half, `session`, with each later request.
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
   * Starts an execution. A repeated idempotency key returns the same execution. If no
   * worker of the org has ever registered, the call waits up to 10 s for one; `onWait` is
   * called once if it has to.
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

  /** Returns a page of executions, newest first, without input and output. */
  list(filter: ExecutionFilter = {}): Promise<List<Execution>> {
    const { signal, metadata = {}, ...rest } = filter;
    const query: Query = { ...rest };
    for (const [key, value] of Object.entries(metadata)) query[`metadata.${key}`] = value;
    return this.#t.json("GET", "/agent-executions", { query, signal });
  }

  get(id: string, signal?: AbortSignal): Promise<Execution> {
    return this.#t.json("GET", pathOf(id), { signal });
  }

  /** Cancels an execution. An ended execution is unchanged. */
  cancel(id: string, signal?: AbortSignal): Promise<Execution> {
    return this.#t.json("DELETE", pathOf(id), { signal });
  }

  /** Sends a signal. A repeated signalId changes nothing. */
  signal(id: string, body: SignalBody, signal?: AbortSignal): Promise<SignalReply> {
    return this.#t.json("POST", `${pathOf(id)}/signal`, { body, signal });
  }

  /** Stops the current turn. `stopped` tells whether there was one; if not, nothing changes. */
  interrupt(id: string, options: { reason?: string; signal?: AbortSignal } = {}): Promise<SignalReply> {
    const { reason, signal } = options;
    return this.#t.json("POST", `${pathOf(id)}/interrupt`, {
      body: reason === undefined ? {} : { reason },
      signal,
    });
  }

  /** Asks the agent to compact its conversation. `key` identifies the request for 24 hours. */
  compact(
    id: string,
    options: { instructions?: string; key?: string; signal?: AbortSignal } = {},
  ): Promise<SignalReply> {
    const { instructions, key, signal } = options;
    const headers: Record<string, string> = key ? { "Idempotency-Key": key } : {};
    const body = instructions === undefined ? {} : { instructions };
    return this.#t.json("POST", `${pathOf(id)}/compact`, { body, headers, signal });
  }

  /** Returns a page of what the next model call is asked with. */
  context(id: string, options: Paging = {}): Promise<Context> {
    const { signal, ...query } = options;
    return this.#t.json("GET", `${pathOf(id)}/context`, { query: { ...query }, signal });
  }

  /** Returns the path of entries, root to leaf. With `all` it returns every entry. */
  entries(id: string, options: Paging & { all?: boolean } = {}): Promise<List<Entry>> {
    const { signal, ...query } = options;
    return this.#t.json("GET", `${pathOf(id)}/entries`, { query: { ...query }, signal });
  }

  entry(id: string, entryId: string, signal?: AbortSignal): Promise<Entry> {
    return this.#t.json("GET", `${pathOf(id)}/entries/${encodeURIComponent(entryId)}`, { signal });
  }

  /**
   * Returns an entry with its content, whatever its size. The content of a LOCAL execution
   * comes from its worker. If that worker is away, the error `unavailable` names it, with
   * the time of the last contact.
   */
  async wholeEntry(id: string, entryId: string, signal?: AbortSignal): Promise<Entry> {
    const entry = await this.entry(id, entryId, signal);
    if (contentOf(entry) || !entry.contentSha256) return entry;
    const answer = await this.#t.send("GET", this.#t.url(`${pathOf(id)}/content/${entry.contentSha256}`), {
      signal,
    });
    // A worker stores the entry's metadata as a member of the content.
    const { metadata, ...content } = (await answer.json()) as Content & { metadata?: unknown };
    return metadata === undefined ? { ...entry, content } : { ...entry, content, metadata };
  }

  tasks(id: string, options: Paging & { steps?: boolean } = {}): Promise<List<Task>> {
    const { signal, ...query } = options;
    return this.#t.json("GET", `${pathOf(id)}/tasks`, { query: { ...query }, signal });
  }

  /** Returns the signals in any state, oldest first. Those of a LOCAL execution have no values. */
  signals(id: string, options: Paging = {}): Promise<List<Signal>> {
    const { signal, ...query } = options;
    return this.#t.json("GET", `${pathOf(id)}/signals`, { query: { ...query }, signal });
  }

  checkpoints(id: string, options: Paging = {}): Promise<List<Checkpoint>> {
    const { signal, ...query } = options;
    return this.#t.json("GET", `${pathOf(id)}/checkpoints`, { query: { ...query }, signal });
  }

  /** Returns a checkpoint by its number, with its state. */
  checkpoint(id: string, sequence: number, signal?: AbortSignal): Promise<Checkpoint> {
    return this.#t.json("GET", `${pathOf(id)}/checkpoints/${sequence}`, { signal });
  }

  /** Returns a page of the log after a cursor, or from the start. */
  events(id: string, options: EventsOptions = {}): Promise<EventPage> {
    const { signal, ...query } = options;
    return this.#t.json("GET", `${pathOf(id)}/events`, { query: { ...query }, signal });
  }

  /**
   * Returns the execution, its newest entries and open blocks, and the cursor of this
   * state.
   */
  snapshot(id: string, options: { entries?: number; signal?: AbortSignal } = {}): Promise<Snapshot> {
    return this.#t.json("GET", `${pathOf(id)}/snapshot`, {
      query: { entries: options.entries },
      signal: options.signal,
    });
  }

  /**
   * Yields the events of the log as they are committed, to its end, and reconnects as often
   * as needed. It keeps no state: after a reconnect an event can come twice, and the caller
   * must handle `reset`. `follow` does both.
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

  /**
   * Replaces the whole definition. If `ifMatch` is not its version, the error is
   * `conflict`.
   */
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

/** The org's keys. The calls require a key of the role admin. */
export class Keys {
  readonly #t: Transport;

  constructor(transport: Transport) {
    this.#t = transport;
  }

  /** Creates a key. The reply has its secret, which the server does not return again. */
  create(body: { name: string; role: KeyRole }, signal?: AbortSignal): Promise<NewKey> {
    return this.#t.json("POST", "/keys", { body, signal });
  }

  /** Returns all keys, revoked ones included. */
  list(signal?: AbortSignal): Promise<List<APIKey>> {
    return this.#t.json("GET", "/keys", { signal });
  }

  /** Revokes a key. Within 5 s it stops working, and its open streams end. */
  revoke(id: string, signal?: AbortSignal): Promise<APIKey> {
    return this.#t.json("DELETE", `/keys/${encodeURIComponent(id)}`, { signal });
  }
}

/**
 * The sessions of browsers: all of the org for a key of the role admin, otherwise those of
 * the key.
 */
export class Sessions {
  readonly #t: Transport;

  constructor(transport: Transport) {
    this.#t = transport;
  }

  list(options: Paging = {}): Promise<List<Session>> {
    const { signal, ...query } = options;
    return this.#t.json("GET", "/sessions", { query: { ...query }, signal });
  }

  /** Ends a session. Within 5 s it stops working, and its open streams end. */
  revoke(id: string, signal?: AbortSignal): Promise<Session> {
    return this.#t.json("DELETE", `/sessions/${encodeURIComponent(id)}`, { signal });
  }
}

/** What an agent can be made of: the kinds that workers have registered, model providers, built-in tools. */
export class Catalog {
  readonly #t: Transport;

  constructor(transport: Transport) {
    this.#t = transport;
  }

  /** The kinds of agents and tasks, or those of one type. */
  kinds(options: Paging & { type?: KindInfo["type"] } = {}): Promise<List<KindInfo>> {
    const { signal, ...query } = options;
    return this.#t.json("GET", "/kinds", { query: { ...query }, signal });
  }

  /** The providers that the server's program knows or a worker has registered. */
  providers(options: Paging = {}): Promise<List<ProviderInfo>> {
    const { signal, ...query } = options;
    return this.#t.json("GET", "/providers", { query: { ...query }, signal });
  }

  /** The tools that are built into the server's program. */
  tools(options: Paging = {}): Promise<List<ToolInfo>> {
    const { signal, ...query } = options;
    return this.#t.json("GET", "/tools", { query: { ...query }, signal });
  }
}

/**
 * Yields all items of a list, page by page: `itemsOf((cursor) => client.executions.list({
 * cursor }))`.
 */
export async function* itemsOf<T>(page: (cursor?: string) => Promise<List<T>>): AsyncGenerator<T, void> {
  for (let cursor: string | undefined; ; ) {
    const { items, nextCursor } = await page(cursor);
    yield* items;
    if (nextCursor === null) return;
    cursor = nextCursor;
  }
}
