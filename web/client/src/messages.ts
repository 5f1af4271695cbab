import type { BlockClosed, BlockReason, BlockType, LogEvent, Piece } from "./events";
import { hasSeq, pieceOf } from "./events";
import { byteLength, withoutBytes } from "./utf8";

/** A held event of the log. */
export interface HeldEvent {
  kind: "event";
  seq: number;
  /** Any event except chunks, `snapshot` and events without a seq. */
  event: LogEvent;
  createdAt: string;
}

/** A held block of the log: the text of all chunks that have arrived. */
export interface HeldBlock {
  kind: "block";
  seq: number;
  type: BlockType;
  /** The data of the first chunk or of the snapshot, with the block's place. */
  data: Piece["data"];
  text: string;
  /**
   * The text lacks the parts that only the worker of a LOCAL execution has, and all after
   * them.
   */
  withheld: boolean;
  /** The length of the block so far in bytes of UTF-8, which is the next chunk's offset. */
  bytes: number;
  state: "open" | BlockReason;
  createdAt: string;
}

/** The held content of one seq. */
export type Message = HeldEvent | HeldBlock;

/**
 * Returns the newest seq of the messages; 0 if there are none. It is always computed, never
 * stored.
 */
export function getMaxSeq(messages: readonly Message[]): number {
  let most = 0;
  for (const m of messages) most = Math.max(most, m.seq);
  return most;
}

/**
 * Returns the seq after which to load so that nothing is missing. This is the newest held
 * seq, or the seq before the oldest open block, because an open block may have grown.
 */
export function getSyncSeq(messages: readonly Message[]): number {
  let seq = getMaxSeq(messages);
  for (const m of messages) if (m.kind === "block" && m.state === "open") seq = Math.min(seq, m.seq - 1);
  return seq;
}

/** Returns the message of an event in a page, or of the first chunk of a block. */
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

/** Returns the length of a piece in bytes of its block. */
function lengthOf(p: Piece): number {
  return p.withheld ?? byteLength(p.text);
}

/**
 * Merges a page of the log, in which a block is one whole event, with the held messages.
 * The result has each seq once, in order. A whole block replaces the held block, unless the
 * held block has the same text and more. The arguments are not changed.
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
 * Returns the block to hold after a whole block arrived: the held one if it already has all
 * of it. Held text is retained if it is withheld by now.
 */
export function wholeOf(held: HeldBlock, m: HeldBlock): HeldBlock {
  if (held.state !== "open") return held;
  if (m.withheld) return m.bytes > held.bytes ? { ...held, bytes: m.bytes, withheld: true } : held;
  if (held.withheld ? m.bytes < held.bytes : held.text.startsWith(m.text)) return held;
  return { ...m, state: held.state };
}

/**
 * Closes blocks by their block.closed, whatever the order in which both came. The last
 * block.closed of a block applies, because a closed block may be superseded later.
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
 * Returns the closed block. The text of a superseded block is dropped. An empty block that
 * closes with a length was superseded afterwards: the server no longer has its text.
 */
export function closeBlock(block: HeldBlock, by: BlockClosed): HeldBlock {
  if (by.reason === "superseded" || (block.bytes === 0 && by.length > 0)) {
    return { ...block, text: "", bytes: 0, state: "superseded" };
  }
  return { ...block, state: by.reason };
}

/**
 * Adds a chunk to a block at its offset, without the bytes that are already known. Returns
 * the longer block, the same block if all bytes are known, or null if there is a gap
 * between them. An empty first chunk means that the block is superseded, as its
 * block.closed will report; its text is dropped. Of a withheld chunk, and of the chunks
 * after it, only the length is added.
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
