import { Backoff } from "./backoff";
import { asError, type PerdureError } from "./errors";
import type { LogEvent, Snapshot } from "./events";
import { Following, type FollowOptions } from "./following";
import type { Prompt } from "./prompts";
import { type Position, readStream, type StreamRequest } from "./stream";
import type { Transport } from "./transport";
import type { ImagePart } from "./types";

export interface StreamFollowOptions extends FollowOptions {
  /** `agent` leaves out `task.*` and `terminal`. Default `consolidated`. */
  stream?: StreamRequest["stream"];
  /**
   * Begin with a snapshot in place of the whole log. A number is the number of its entries
   * (default 100).
   */
  snapshot?: boolean | number;
  /** Called with each new event, after it was processed. */
  onEvent?: (e: LogEvent) => void;
}

/** The calls of the API that the follower uses. */
export interface FollowApi {
  snapshot(executionId: string, options: { entries?: number; signal?: AbortSignal }): Promise<Snapshot>;
  prompt(executionId: string, prompt: Prompt, signal: AbortSignal): Promise<void>;
}

/**
 * The number of consecutive reads that do not begin at the log's first event after which
 * that event is assumed to be deleted by the server, not lost in transit.
 */
const enoughHeadless = 4;

/**
 * The number of consecutive reads that end without the event that ended the run after which
 * that event is assumed to be deleted by the server, not lost in transit.
 */
const enoughEndless = 10;

/**
 * Follows an execution over server-sent events until its log ends, and reconnects as often
 * as needed.
 */
export class StreamFollower extends Following {
  readonly #transport: Transport;
  readonly #api: FollowApi;
  readonly #request: StreamRequest;
  readonly #options: StreamFollowOptions;
  readonly #stop = new AbortController();
  readonly #backoff: Backoff;
  #from: Position = {};
  #begun = false;
  #resyncs = 0; // since the newest seq last grew
  #headless = 0; // consecutive reads that did not begin at the log's first event
  #endless = 0; // reads that ended without the event that ended the run, since the newest seq last grew
  #gapAt = 0; // the newest seq that was held at a gap
  readonly #afterGaps: Backoff;

  constructor(transport: Transport, api: FollowApi, executionId: string, options: StreamFollowOptions = {}) {
    super((p, signal) => api.prompt(executionId, p, signal), options);
    this.#transport = transport;
    this.#api = api;
    this.#options = options;
    this.#request = {
      executionId,
      stream: options.stream ?? "consolidated",
      idle: options.idle ?? 45_000,
    };
    this.#backoff = new Backoff(options.clock, options);
    this.#afterGaps = new Backoff(options.clock, options);
    void this.#run();
  }

  /** Shows a prompt at once, and sends it until the server has it. */
  prompt(text: string, id?: string, images?: readonly ImagePart[]): Prompt {
    return this.prompts.add(text, id, images);
  }

  /** Stops following. The execution is not affected. */
  stop(): void {
    if (this.connection === "ended" || this.connection === "failed") return;
    this.#stop.abort();
    this.prompts.stop();
    this.stands("stopped");
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      let cut: PerdureError;
      try {
        await this.#begin(signal);
        if (await this.#connect(signal)) {
          this.stands("ended", null);
          return;
        }
        continue; // a resync or a reset: reconnect at once
      } catch (thrown) {
        if (signal.aborted) return;
        cut = asError(thrown);
      }
      if (!cut.retryable) {
        this.stands("failed", cut);
        return;
      }
      this.cuts++;
      this.stands("waiting", cut);
      await this.#backoff.pause(signal, cut.retryAfter);
    }
  }

  /** Loads a snapshot, if one is requested. */
  async #begin(signal: AbortSignal): Promise<void> {
    if (this.#begun || !this.#options.snapshot) return;
    const { snapshot } = this.#options;
    const taken = await this.#api.snapshot(this.#request.executionId, {
      ...(typeof snapshot === "number" ? { entries: snapshot } : {}),
      signal,
    });
    this.held.begin(taken);
    this.base = { snapshot: taken };
    this.#from = { cursor: taken.cursor };
    this.#begun = true;
    this.changed();
  }

  /**
   * Reads one connection. Returns true if the log has ended, and false to reconnect at
   * once.
   */
  async #connect(signal: AbortSignal): Promise<boolean> {
    for await (const e of readStream(this.#transport, this.#request, this.#from, signal)) {
      if (this.connection !== "live") this.stands("live");
      if (e.event === "end") break;
      if (e.event === "reset") {
        this.#reset(e);
        if (this.#options.snapshot) return false;
        continue;
      }
      const outcome = this.held.apply(e);
      if (outcome === "gap") {
        await this.#resync(signal);
        return false;
      }
      if (e.cursor) this.#from = { cursor: e.cursor };
      if (outcome === "taken") this.#taken(e);
      else this.#backoff.worked();
    }
    if (signal.aborted) return false;
    if (this.finished || ++this.#endless >= enoughEndless) return true;
    await this.#resync(signal); // the event that ended the run is missing
    return false;
  }

  #taken(e: LogEvent): void {
    this.#backoff.worked();
    if (this.#resyncs > 0 && this.held.lastSeenSeq > this.#gapAt) {
      this.#resyncs = 0;
      this.#endless = 0;
      this.#afterGaps.worked();
    }
    if (e.event === "signal.received") this.prompts.seen(e.data.signalId);
    this.changed();
    this.#options.onEvent?.(e);
  }

  #reset(e: Extract<LogEvent, { event: "reset" }>): void {
    this.#gapAt = 0;
    this.held.reset(e.data.firstAvailable - 1);
    this.dropped();
    this.#begun = false;
    this.#from = e.cursor ? { cursor: e.cursor } : {};
    this.changed();
    this.#options.onEvent?.(e);
  }

  /**
   * Handles a gap: reads again from the newest position that is complete. If that does not
   * help, drops the state and starts over. If several reads do not begin at the log's first
   * event, the log is read from the first event that exists.
   */
  async #resync(signal: AbortSignal): Promise<void> {
    this.#resyncs++;
    this.#headless = this.held.messages.length === 0 ? this.#headless + 1 : 0;
    this.#gapAt = Math.max(this.#gapAt, this.held.lastSeenSeq);
    if (this.#resyncs === 1) {
      this.#from = { afterSeq: this.held.syncSeq };
      return;
    }
    if (this.#resyncs > 2) await this.#afterGaps.pause(signal);
    this.held.reset(this.#options.snapshot || this.#headless >= enoughHeadless ? null : 0);
    this.dropped();
    this.#begun = false;
    this.#from = {};
    this.changed();
  }
}
