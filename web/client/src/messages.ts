import type { BlockClosed, BlockReason, BlockType, LogEvent } from "./events";
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
  data: NonNullable<ReturnType<typeof pieceOf>>["data"];
  text: string;
  /** The length of the text in bytes of UTF-8; the next chunk's offset. */
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
    bytes: byteLength(piece.text),
    state: "open",
    createdAt,
  };
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
  return held.state !== "open" || held.text.startsWith(m.text) ? held : { ...m, state: held.state };
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
 * as its end is going to: nothing of it is left.
 */
export function grow(block: HeldBlock, offset: number, text: string): HeldBlock | null {
  if (block.state !== "open") return block;
  if (offset === 0 && text === "" && block.bytes > 0) return { ...block, text: "", bytes: 0 };
  const known = block.bytes - offset;
  if (known < 0) return null;
  const length = byteLength(text);
  if (known >= length) return block;
  const rest = withoutBytes(text, known);
  if (rest === null) return null;
  return { ...block, text: block.text + rest, bytes: offset + length };
}
