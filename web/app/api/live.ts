import { useEffect, useMemo, useSyncExternalStore } from "react";
import type { Followed, ImagePart, Prompt, SocketFollower } from "../../client/src/index";
import { api, orgNow } from "./client";
import { Outbox } from "./outbox";

/** The number of events per read, newest first. */
const pageOfEvents = 500;

export interface LiveState extends Followed {
  /** There are events before the held ones. */
  hasOlder: boolean;
  loadingOlder: boolean;
}

/**
 * The live state of one run. Changes are shown once per frame of the screen, whatever the number of
 * events. It stays open while a component uses it, and until the prompts sent from here are
 * acknowledged.
 */
export class LiveRun {
  readonly id: string;
  readonly follower: SocketFollower;
  readonly #outbox: Outbox;
  readonly #listeners = new Set<() => void>();
  readonly #gone: () => void;
  #state: LiveState;
  #kept: readonly Prompt[] | null = null;
  #frame = 0;
  #loading = false;
  #lookers = 0;

  constructor(id: string, gone: () => void) {
    this.id = id;
    this.#gone = gone;
    this.#outbox = new Outbox(orgNow(), id);
    this.follower = api().executions.connect(id, { limit: pageOfEvents });
    for (const p of this.#outbox.read()) this.follower.prompt(p.text, p.id, p.images);
    this.#state = this.#look();
    this.follower.subscribe(() => {
      this.#keep();
      this.#schedule();
      this.#leave();
    });
  }

  get state(): LiveState {
    return this.#state;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Adds a user of this object. Returns a function that removes the user. */
  enter(): () => void {
    this.#lookers++;
    return () => {
      this.#lookers--;
      setTimeout(() => this.#leave(), 0); // a page that is mounted again subscribes at once
    };
  }

  send(text: string, images: readonly ImagePart[] = []): void {
    this.follower.prompt(text, undefined, images);
    this.#keep();
    this.#show();
  }

  async loadOlder(): Promise<void> {
    if (this.#loading || !this.follower.hasOlder) return;
    this.#loading = true;
    this.#schedule();
    try {
      await this.follower.loadOlder();
    } catch {
      // The connection is being restored. The next scroll asks again.
    } finally {
      this.#loading = false;
      this.#schedule();
    }
  }

  /**
   * Saves the pending prompts if they have changed, because writes to the storage are expensive.
   */
  #keep(): void {
    const { prompts } = this.follower.prompts;
    if (prompts === this.#kept) return;
    this.#kept = prompts;
    this.#outbox.write(prompts);
  }

  #leave(): void {
    if (this.#lookers > 0 || this.follower.prompts.prompts.some((p) => p.state === "pending")) return;
    cancelAnimationFrame(this.#frame);
    this.follower.stop();
    this.#gone();
  }

  #schedule(): void {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => this.#show());
  }

  #show(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#state = this.#look();
    for (const listener of [...this.#listeners]) listener();
  }

  #look(): LiveState {
    return { ...this.follower.current, hasOlder: this.follower.hasOlder, loadingOlder: this.#loading };
  }
}

const open = new Map<string, LiveRun>();

function liveRun(id: string): LiveRun {
  const key = `${orgNow()} ${id}`;
  let run = open.get(key);
  if (!run) {
    const made = new LiveRun(id, () => {
      if (open.get(key) === made) open.delete(key);
    });
    run = made;
    open.set(key, run);
  }
  return run;
}

/** Follows a run as long as the calling page is mounted. */
export function useLiveRun(id: string): LiveRun {
  const run = useMemo(() => liveRun(id), [id]);
  useEffect(() => run.enter(), [run]);
  return run;
}

export function useLiveState(run: LiveRun): LiveState {
  return useSyncExternalStore(run.subscribe, () => run.state);
}
