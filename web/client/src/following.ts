import type { BackoffOptions, Clock } from "./backoff";
import { PerdureError } from "./errors";
import { type Base, ViewFold } from "./fold";
import { HeldLog } from "./held";
import type { Message } from "./messages";
import { type Prompt, PromptQueue } from "./prompts";
import type { Entry, Status } from "./types";
import { type ExecutionView, phaseOf } from "./view";

/** The state of a follower's connection. `failed` is final: a retry would not help. */
export type Connection = "connecting" | "live" | "waiting" | "ended" | "failed" | "stopped";

/** The state of a follower. Each change creates another object. */
export interface Followed {
  view: ExecutionView;
  /** The prompts that this client has sent and the log does not contain yet, in order. */
  prompts: readonly Prompt[];
  connection: Connection;
  /** The error of the last lost connection, or of the failure. */
  error: PerdureError | null;
}

export interface FollowOptions extends BackoffOptions {
  /**
   * Milliseconds without a byte after which the connection is considered dead. Default
   * 45,000.
   */
  idle?: number;
  clock?: Clock;
}

/**
 * The common part of the followers over SSE and WebSocket: messages, prompts, and the state
 * for listeners. `subscribe` and `current` match React's useSyncExternalStore.
 */
export class Following {
  readonly held = new HeldLog();
  readonly prompts: PromptQueue;
  /** The number of times the state was dropped because it belonged to another log. */
  resets = 0;
  /** The number of lost connections. */
  cuts = 0;
  base: Base = {};
  #supplied: ReadonlyMap<string, Entry> = new Map();
  readonly #listeners = new Set<() => void>();
  #told = false;
  #connection: Connection = "connecting";
  #error: PerdureError | null = null;
  #view: { version: number; base: Base; supplied: unknown; fold: ViewFold; made: ExecutionView } | null =
    null;
  #current: Followed | null = null;

  constructor(send: (prompt: Prompt, signal: AbortSignal) => Promise<void>, options: FollowOptions) {
    this.prompts = new PromptQueue({
      send,
      ...(options.clock ? { clock: options.clock } : {}),
      ...(options.first === undefined ? {} : { first: options.first }),
      ...(options.most === undefined ? {} : { most: options.most }),
      onChange: () => this.changed(),
    });
  }

  /**
   * The view of the execution. Unchanged messages and parts are the same objects as before.
   */
  get view(): ExecutionView {
    const { version } = this.held;
    if (this.#view?.version !== version || !this.#isOf(this.#view)) {
      const fold = this.#folded();
      this.#view = { version, base: this.base, supplied: this.#supplied, fold, made: fold.view() };
    }
    return this.#view.made;
  }

  /** Reports whether a view has the current base and supplied entries. */
  #isOf(view: { base: Base; supplied: unknown }): boolean {
    return view.base === this.base && view.supplied === this.#supplied;
  }

  /** Adds the content of a fetched entry whose event lacks it. */
  supply(entry: Entry): void {
    this.#supplied = new Map(this.#supplied).set(entry.id, entry);
    this.changed();
  }

  /** Returns the fold of the messages. It updates the previous fold if that is possible. */
  #folded(): ViewFold {
    const changes = this.held.takeChanges();
    const before = this.#view;
    if (changes && before && this.#isOf(before) && changes.every((m) => before.fold.take(m)))
      return before.fold;
    const fold = new ViewFold({ ...this.base, supplied: this.#supplied });
    for (const m of this.held.messages) fold.take(m);
    return fold;
  }

  get current(): Followed {
    this.#current ??= {
      view: this.view,
      prompts: this.prompts.prompts,
      connection: this.#connection,
      error: this.#error,
    };
    return this.#current;
  }

  /** Reports whether the messages include the event that ended the run. */
  get finished(): boolean {
    const last = this.held.messages.at(-1);
    const status = this.base.snapshot?.execution.status;
    return phaseOf(statusOf(last) ?? status ?? null, null) === "ended";
  }

  get connection(): Connection {
    return this.#connection;
  }

  /** Calls the listener after each change. Returns a function that removes the listener. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  stands(connection: Connection, error: PerdureError | null = this.#error): void {
    this.#connection = connection;
    this.#error = error;
    this.changed();
  }

  /** Resets the view, because another log, or another part of it, follows. */
  dropped(): void {
    this.resets++;
    this.base = {};
    this.#supplied = new Map();
    this.prompts.forgetAcknowledged();
  }

  /** Notifies the listeners, once for all changes in one turn of the event loop. */
  changed(): void {
    this.#current = null;
    if (this.#told) return;
    this.#told = true;
    setTimeout(() => {
      this.#told = false;
      for (const listener of [...this.#listeners]) listener();
    }, 0);
  }

  /** Resolves when the state satisfies the condition. Rejects when it never can. */
  until(want: (now: Followed) => boolean): Promise<Followed> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const now = this.current;
        if (want(now)) resolve(now);
        else if (["failed", "stopped", "ended"].includes(now.connection)) {
          reject(now.error ?? new PerdureError("unavailable", `following is over: ${now.connection}`));
        } else return;
        end();
      };
      const end = this.subscribe(look);
      look();
    });
  }
}

function statusOf(m: Message | undefined): Status | null {
  if (m?.kind !== "event") return null;
  switch (m.event.event) {
    case "agent.completed":
    case "agent.failed":
    case "agent.cancelled":
      return m.event.data.status;
    default:
      return null;
  }
}
