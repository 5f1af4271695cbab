import type { BackoffOptions, Clock } from "./backoff";
import { PerdureError } from "./errors";
import { type Base, ViewFold } from "./fold";
import { HeldLog } from "./held";
import type { Message } from "./messages";
import { type Prompt, PromptQueue } from "./prompts";
import type { Entry, Status } from "./types";
import { type ExecutionView, phaseOf } from "./view";

/** How a follower stands to the server. `failed` is final: trying again would not help. */
export type Connection = "connecting" | "live" | "waiting" | "ended" | "failed" | "stopped";

/** What a follower has made of the log so far. It is another object after each change. */
export interface Followed {
  view: ExecutionView;
  /** What this client has sent and the log does not show yet, in order. */
  prompts: readonly Prompt[];
  connection: Connection;
  /** Why the connection was lost last, or failed. */
  error: PerdureError | null;
}

export interface FollowOptions extends BackoffOptions {
  /** Milliseconds without a byte after which the connection is taken for dead. Default 45,000. */
  idle?: number;
  clock?: Clock;
}

/**
 * What the followers over SSE and WebSocket share: messages, prompts, and the
 * state that listeners see. `subscribe` and `current` fit React's
 * useSyncExternalStore.
 */
export class Following {
  readonly held = new HeldLog();
  readonly prompts: PromptQueue;
  /** How often the state was dropped because it was of another log. */
  resets = 0;
  /** How often the connection was lost. */
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

  /** What has not changed keeps its identity: messages, and their parts. */
  get view(): ExecutionView {
    const { version } = this.held;
    if (this.#view?.version !== version || !this.#isOf(this.#view)) {
      const fold = this.#folded();
      this.#view = { version, base: this.base, supplied: this.#supplied, fold, made: fold.view() };
    }
    return this.#view.made;
  }

  /** What is shown goes on from the same as before. */
  #isOf(view: { base: Base; supplied: unknown }): boolean {
    return view.base === this.base && view.supplied === this.#supplied;
  }

  /** Shows the content of an entry that was fetched, where its event lacks it. */
  supply(entry: Entry): void {
    this.#supplied = new Map(this.#supplied).set(entry.id, entry);
    this.changed();
  }

  /** The fold of what is held: the one before, with what has changed, if that can be. */
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

  /** What is held reaches the event that ended the run. */
  get finished(): boolean {
    const last = this.held.messages.at(-1);
    const status = this.base.snapshot?.execution.status;
    return phaseOf(statusOf(last) ?? status ?? null, null) === "ended";
  }

  get connection(): Connection {
    return this.#connection;
  }

  /** Calls after each change; the answer ends that. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  stands(connection: Connection, error: PerdureError | null = this.#error): void {
    this.#connection = connection;
    this.#error = error;
    this.changed();
  }

  /** Another log, or another part of it, follows. */
  dropped(): void {
    this.resets++;
    this.base = {};
    this.#supplied = new Map();
    this.prompts.forgetAcknowledged();
  }

  /** Tells the listeners, once for all changes of one turn of the event loop. */
  changed(): void {
    this.#current = null;
    if (this.#told) return;
    this.#told = true;
    setTimeout(() => {
      this.#told = false;
      for (const listener of [...this.#listeners]) listener();
    }, 0);
  }

  /** Resolves when the state is as wanted; rejects when it never will be. */
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
