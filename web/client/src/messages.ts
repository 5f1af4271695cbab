import type { BlockClosed, BlockReason, BlockType, LogEvent, Piece } from "./events";
import { hasSeq, pieceOf } from "./events";
import { byteLength, withoutBytes } from "./utf8";

/** An event of the log as it is held. */
export interface HeldEvent {
  kind: "event";
  seq: number;
  /** Any but a chunk, `snapshot` or one that has no seq. */
  event: LogEvent;
  createdAt: string;
}

/** A block of the log as it is held: all chunks that came, in one text. */
export interface HeldBlock {
  kind: "block";
  seq: number;
  type: BlockType;
  /** The first chunk's, or the snapshot's, data: where the block belongs. */
  data: Piece["data"];
  text: string;
  /** The text lacks what is on the worker of a LOCAL execution, and all after it. */
  withheld: boolean;
  /** The length of the block so far in bytes of UTF-8; the next chunk's offset. */
  bytes: number;
  state: "open" | BlockReason;
  createdAt: string;
}

/** What a client holds of one seq. */
export type Message = HeldEvent | HeldBlock;

/** The newest seq among the messages; 0 for none. It is derived, never stored apart. */
export function getMaxSeq(messages: readonly Message[]): number {
  let most = 0;
  for (const m of messages) most = Math.max(most, m.seq);
  return most;
}

/**
 * The seq after which to load so that nothing is missing: the newest that is
 * held, or, as a block that is open may have grown, the one before the oldest
 * open block.
 */
export function getSyncSeq(messages: readonly Message[]): number {
  let seq = getMaxSeq(messages);
  for (const m of messages) if (m.kind === "block" && m.state === "open") seq = Math.min(seq, m.seq - 1);
  return seq;
}

/** The message of an event of a page, or of the first chunk of a block. */
export function messageOf(e: LogEvent): Message | null {
  if (!hasSeq(e)) return null;
  const piece = pieceOf(e);
  const { seq, createdAt } = e.data;
  if (!piece) return { kind: "event", seq, event: e, createdAt };
  return {
    kind: "block",
    seq,
    type: piece.type,
    data: piece.data,
    text: piece.text,
    withheld: piece.withheld !== undefined,
    bytes: lengthOf(piece),
    state: "open",
    createdAt,
  };
}

/** How many bytes of its block a piece is. */
function lengthOf(p: Piece): number {
  return p.withheld ?? byteLength(p.text);
}

/**
 * Puts a page of the log, in which a block is one whole event, together with
 * what is held: each seq once, in order. A whole block replaces what is held of
 * it, unless that is the same and has grown since. Nothing that is given is
 * changed.
 */
export function mergeMessagesWithSync(held: readonly Message[], page: readonly Message[]): Message[] {
  const bySeq = new Map<number, Message>();
  for (const m of held) bySeq.set(m.seq, m);
  for (const m of page) bySeq.set(m.seq, merged(bySeq.get(m.seq), m));
  const all = [...bySeq.values()].sort((a, b) => a.seq - b.seq);
  return closeAll(all);
}

function merged(held: Message | undefined, m: Message): Message {
  if (!held) return m;
  if (held.kind !== "block" || m.kind !== "block") return held.kind === m.kind ? held : m;
  return wholeOf(held, m);
}

/**
 * What is held of a block once it came whole: the same if all of that is known.
 * Text that is held is kept where it is withheld by now.
 */
export function wholeOf(held: HeldBlock, m: HeldBlock): HeldBlock {
  if (held.state !== "open") return held;
  if (m.withheld) return m.bytes > held.bytes ? { ...held, bytes: m.bytes, withheld: true } : held;
  if (held.withheld ? m.bytes < held.bytes : held.text.startsWith(m.text)) return held;
  return { ...m, state: held.state };
}

/**
 * Lets each block.closed close its block, in whatever order both came. The last
 * one of a block counts: what has closed may be superseded later.
 */
function closeAll(messages: Message[]): Message[] {
  const closed = new Map<number, BlockClosed>();
  for (const m of messages) {
    if (m.kind === "event" && m.event.event === "block.closed")
      closed.set(m.event.data.blockSeq, m.event.data);
  }
  return messages.map((m) => {
    const by = closed.get(m.seq);
    if (!by || m.kind !== "block" || m.state === "superseded") return m;
    return m.state === "open" || by.reason === "superseded" ? closeBlock(m, by) : m;
  });
}

/**
 * The block as it is once closed. What a superseded one has shown is dropped. A
 * block that closes empty was superseded after that: the server has nothing of
 * it left.
 */
export function closeBlock(block: HeldBlock, by: BlockClosed): HeldBlock {
  if (by.reason === "superseded" || (block.bytes === 0 && by.length > 0)) {
    return { ...block, text: "", bytes: 0, state: "superseded" };
  }
  return { ...block, state: by.reason };
}

/**
 * Adds a chunk to a block at its offset, leaving out the bytes that are known:
 * the longer block, the same one if all is known, or null if there is a hole
 * between both. A first chunk that is empty says that the block is superseded,
 * as its end is going to: nothing of it is left. Of one that is withheld, and of
 * what comes after it, the length alone is added.
 */
export function grow(block: HeldBlock, p: Piece): HeldBlock | null {
  if (block.state !== "open") return block;
  const length = lengthOf(p);
  if (p.offset === 0 && length === 0 && block.bytes > 0) return { ...block, text: "", bytes: 0 };
  const known = block.bytes - p.offset;
  if (known < 0) return null;
  if (known >= length) return block;
  const bytes = p.offset + length;
  if (block.withheld || p.withheld !== undefined) return { ...block, bytes, withheld: true };
  const rest = withoutBytes(p.text, known);
  if (rest === null) return null;
  return { ...block, text: block.text + rest, bytes };
}
