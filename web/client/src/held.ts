import type { LogEvent, Reset, Snapshot } from "./events";
import { hasSeq, pieceOf, type SeqEvent } from "./events";
import {
  closeBlock,
  getMaxSeq,
  getSyncSeq,
  grow,
  type HeldBlock,
  type Message,
  mergeMessagesWithSync,
  messageOf,
  wholeOf,
} from "./messages";

/**
 * The result of an event. `taken`: it was added. `known`: it was there already, or is not
 * needed. `gap`: an event before it is missing. Events after a gap must not be added; load
 * again from `syncSeq`.
 */
export type Outcome = "taken" | "known" | "gap";

/**
 * A page of the log as the WebSocket returns it. A page requested with after_seq begins
 * with a snapshot of each block up to that seq that is open or was closed after it.
 * first_seq does not count these snapshots, and is 0 if the page has nothing else.
 */
export interface Page {
  events: LogEvent[];
  first_seq: number;
  last_seq: number;
  max_seq: number;
  has_more: boolean;
  prepend: boolean;
  is_stale_client: boolean;
  /** Why the client is stale. */
  reset?: Reset;
}

/**
 * The messages of one log that a client holds. However often an event arrives, each seq and
 * each byte of a block is held once, in order, and without a gap after `floor`.
 */
export class HeldLog {
  #messages: Message[] = [];
  #at = new Map<number, number>(); // seq → index
  #floor: number | null = 0;
  #version = 0;
  #changed = new Set<number>();
  #anew = true;

  /** Oldest first. */
  get messages(): readonly Message[] {
    return this.#messages;
  }

  /** Increases with every change. */
  get version(): number {
    return this.#version;
  }

  /** Reading began after this seq. Null until the first event determines it. */
  get floor(): number | null {
    return this.#floor;
  }

  /** The newest seq that is held. */
  get lastSeenSeq(): number {
    return getMaxSeq(this.#messages.slice(-1));
  }

  /** The seq after which to load again so that nothing is missing. */
  get syncSeq(): number {
    return this.#messages.length > 0 ? getSyncSeq(this.#messages) : (this.#floor ?? 0);
  }

  /**
   * Returns the changes since the last call: new messages and those that have grown, oldest
   * first. Returns null if the view must be computed from all messages again.
   */
  takeChanges(): Message[] | null {
    const seqs = [...this.#changed].sort((a, b) => a - b);
    const anew = this.#anew;
    this.#changed = new Set();
    this.#anew = false;
    return anew ? null : seqs.flatMap((seq) => this.message(seq) ?? []);
  }

  message(seq: number): Message | undefined {
    const i = this.#at.get(seq);
    return i === undefined ? undefined : this.#messages[i];
  }

  /**
   * Drops everything. With a floor, the next event must follow it; without, it may have any
   * seq.
   */
  reset(floor: number | null = null): void {
    this.#replace([]);
    this.#floor = floor;
  }

  /**
   * Begins with the open blocks of a snapshot. Reading continues at the snapshot's cursor.
   */
  begin(snapshot: Snapshot): void {
    const floor = snapshot.execution.maxSeq;
    const blocks: Message[] = [];
    for (const data of snapshot.openBlocks) {
      if (data.seq > floor) continue; // opened while the snapshot was read: it comes again from its start
      const m = messageOf({ cursor: snapshot.cursor, event: "snapshot", data });
      if (m) blocks.push(m);
    }
    this.#replace(mergeMessagesWithSync([], blocks));
    this.#floor = floor;
  }

  /** Adds an event of a stream. `reset` is not handled here. */
  apply(e: LogEvent): Outcome {
    if (!hasSeq(e)) return "known";
    const piece = pieceOf(e);
    if (!piece) return this.#lacks(e) ? "gap" : this.#event(e, e.data.seq, e.data.prevSeq);
    if (e.event === "snapshot") return this.#whole(e);
    if (this.#lacks(e)) return "gap";
    const held = this.message(e.data.seq);
    if (!held) return this.#opening(e, piece.offset);
    if (held.kind !== "block") return "known";
    const grown = grow(held, piece);
    if (!grown) return "gap";
    return this.#set(held, grown);
  }

  /**
   * Adds a page. A page for a stale client first drops everything. A page with prepend
   * never changes the newest seq.
   */
  load(page: Page): Outcome {
    if (page.is_stale_client) this.reset();
    const messages: Message[] = [];
    for (const e of page.events) {
      const m = messageOf(e);
      if (m && (this.#at.has(m.seq) || (page.first_seq > 0 && m.seq >= page.first_seq))) messages.push(m);
    }
    if (this.#messages.length === 0) {
      this.#floor = page.first_seq > 0 ? page.first_seq - 1 : (this.#floor ?? page.max_seq);
    } else if (page.first_seq > 0) {
      if (page.prepend ? page.last_seq < this.#bottom() : page.first_seq > this.lastSeenSeq + 1) return "gap";
      this.#floor = Math.min(this.#bottom(), page.first_seq - 1);
    }
    this.#replace(mergeMessagesWithSync(this.#messages, messages));
    return "taken";
  }

  /**
   * Reports whether a page belongs to another log than the held messages. After a restore
   * from a backup, the new log can be longer than the log that the client saw.
   */
  contradicts(page: Page): boolean {
    if (page.max_seq < this.lastSeenSeq) return true;
    return page.events.some((e) => {
      const m = messageOf(e);
      const held = m && this.message(m.seq);
      return held && (held.kind !== m.kind || held.createdAt !== m.createdAt);
    });
  }

  /** Reports whether a filtered stream sent an earlier event that is not held. */
  #lacks(e: SeqEvent): boolean {
    const shown = e.data.prevShown ?? 0;
    return this.#floor !== null && shown > Math.max(this.#floor, this.lastSeenSeq);
  }

  #bottom(): number {
    return this.#floor ?? 0;
  }

  #event(e: LogEvent, seq: number, prevSeq = 0): Outcome {
    const order = this.#order(seq, prevSeq);
    if (order !== "taken") return order;
    if (e.event === "block.closed") {
      const block = this.message(e.data.blockSeq);
      if (block?.kind === "block") {
        const gone = e.data.reason === "superseded" || block.bytes === 0;
        if (!gone && block.bytes < e.data.length) return "gap";
        this.#set(block, closeBlock(block, e.data));
      }
    }
    return this.#append(messageOf(e));
  }

  /** Adds the first chunk of a block that is not held. */
  #opening(e: SeqEvent, offset: number): Outcome {
    if (offset > 0) {
      return this.#floor === null || e.data.seq <= this.#floor ? "known" : "gap";
    }
    const order = this.#order(e.data.seq, e.data.prevSeq ?? 0);
    return order === "taken" ? this.#append(messageOf(e)) : order;
  }

  /**
   * Checks the order: a new seq must follow the newest seq that is held or was left out.
   */
  #order(seq: number, prevSeq: number): Outcome {
    if (this.#at.has(seq)) return "known";
    this.#floor ??= seq - 1;
    const last = Math.max(this.#floor, this.lastSeenSeq);
    if (seq <= last) return "known"; // older than the start of reading
    return seq === Math.max(last, prevSeq) + 1 ? "taken" : "gap";
  }

  /** Adds a whole block, which replaces the held part of it. */
  #whole(e: LogEvent): Outcome {
    const m = messageOf(e);
    if (!m) return "known";
    const held = this.message(m.seq);
    if (held?.kind === "block" && m.kind === "block" && wholeOf(held, m) === held) return "known";
    this.#replace(mergeMessagesWithSync(this.#messages, [m]));
    return "taken";
  }

  #append(m: Message | null): Outcome {
    if (!m) return "known";
    this.#at.set(m.seq, this.#messages.length);
    this.#messages.push(m);
    this.#changed.add(m.seq);
    this.#version++;
    return "taken";
  }

  #set(held: HeldBlock, next: HeldBlock): Outcome {
    const i = this.#at.get(held.seq);
    if (held === next || i === undefined) return "known";
    this.#messages[i] = next;
    this.#changed.add(next.seq);
    this.#version++;
    return "taken";
  }

  #replace(messages: Message[]): void {
    this.#messages = messages;
    this.#at = new Map(messages.map((m, i) => [m.seq, i]));
    this.#anew = true;
    this.#version++;
  }
}
