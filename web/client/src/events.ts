import type { Entry, Execution, QuestionStatus, Status, Wait, WaitReason } from "./types";

/** The members that the data of every record has. */
export interface Common {
  seq: number;
  agentExecutionId: string;
  createdAt: string;
  responseId?: string;
  turnId?: string;
  messageId?: string;
  toolCallId?: string;
  taskExecutionId?: string;
  attempt?: number;
  /** On filtered streams: the newest seq that was left out so far. */
  prevSeq?: number;
  /** On filtered streams: the newest seq that was sent before. */
  prevShown?: number;
}

/** The types of blocks: events whose content grows, in chunks that share a seq. */
export type BlockType = "token" | "thinking" | "terminal" | "data";

/** A piece of a tool call's arguments. */
export interface CallDelta {
  type: "tool_call_delta";
  tool_call: { id: string };
  delta: string;
}

interface Place {
  /** The offset of the piece in bytes of UTF-8. */
  offset: number;
  /** In terminal blocks only. */
  stream?: "stdout" | "stderr";
}

/**
 * Replaces `data` that only the worker of a LOCAL execution has, by its length in bytes.
 * The whole block is the content with the hash in its block.closed.
 */
export interface Withheld {
  data?: undefined;
  content: "worker";
  length: number;
}

export type TextChunk = Common & Place & ({ data: string } | Withheld);
export type ArgumentsChunk = Common & Place & ({ data: CallDelta } | Withheld);
export type SnapshotData = Common &
  Place & { type: BlockType; snapshot: true } & ({ data: string | CallDelta } | Withheld);

export type DataPayload =
  | { type: "tool_call_start"; tool_call: { id: string; name: string } }
  | {
      type: "tool_call_end";
      tool_call: { id: string; name: string };
      result: { text?: string; isError?: boolean };
    }
  | { type: "file_read" | "file_write"; path: string }
  | { type: "artifact"; path: string; action: string }
  | ({ type: string } & Record<string, unknown>);

export type BlockReason = "done" | "superseded" | "truncated";

export type BlockClosed = Common & {
  blockSeq: number;
  length: number;
  sha256: string;
  reason: BlockReason;
};

/**
 * The position did not match the log. The client drops its state; the log follows from its
 * first event.
 */
export interface Reset {
  reason: "ahead" | "epoch" | "truncated";
  firstAvailable: number;
  lastSeq: number;
}

export type AgentEventName =
  | "agent.created"
  | "agent.started"
  | "agent.resumed"
  | "agent.cancelling"
  | "agent.completed"
  | "agent.failed"
  | "agent.cancelled";

export type TaskEventName =
  | "task.scheduled"
  | "task.started"
  | "task.retrying"
  | "task.completed"
  | "task.failed"
  | "task.interrupted"
  | "task.cancelled";

export type QuestionEventName =
  | "question.asked"
  | "question.voted"
  | "question.edited"
  | "question.answered"
  | "question.expired"
  | "question.withdrawn"
  | "question.closed";

type Open = Common & Record<string, unknown>;

interface EventData {
  "agent.waiting": Common & { status: Status; reason: WaitReason; wait: Wait; openQuestions?: number };
  "agent.checkpoint": Common & { sequence: number };
  "signal.received": Common & { signalId: string; signalName: string; signalValue?: unknown };
  "entry.appended": Common & Omit<Entry, keyof Common> & { contentBytes?: number };
  token: TextChunk;
  thinking: TextChunk;
  terminal: TextChunk;
  data: ArgumentsChunk | (Common & ({ data: DataPayload } | (Withheld & { sha256: string })));
  "block.closed": BlockClosed;
  error: Common & { message: string; code: string };
  snapshot: SnapshotData;
  reset: Reset;
  ping: Record<string, never>;
  end: Record<string, never>;
  html: Common & { part: number; html: string; final: boolean };
}

type AllData = EventData &
  Record<AgentEventName, Open & { status: Status }> &
  Record<
    QuestionEventName,
    Open & { questionId: string; kind: string; status: QuestionStatus; version: number }
  > &
  Record<TaskEventName, Open & { kind?: string }>;

export type EventName = keyof AllData;

/** An event as streams and pages return it. `event` determines the type of `data`. */
export type LogEvent = {
  [N in EventName]: { cursor: string; event: N; data: AllData[N] };
}[EventName];

export type EventOf<N extends EventName> = Extract<LogEvent, { event: N }>;

/** An event with a seq. The others exist only in the stream and are not stored. */
export type SeqEvent = Exclude<LogEvent, { event: "reset" | "ping" | "end" }>;

export function hasSeq(e: LogEvent): e is SeqEvent {
  return e.event !== "reset" && e.event !== "ping" && e.event !== "end";
}

export interface EventPage {
  items: LogEvent[];
  nextCursor: string;
  /** There was nothing after nextCursor. */
  upToDate: boolean;
  reset?: Reset;
}

/** The state of an execution at a cursor. */
export interface Snapshot {
  execution: Execution;
  /** The newest entries of the path, root to leaf. */
  entries: Entry[];
  entriesBefore: number;
  openBlocks: SnapshotData[];
  cursor: string;
}

/** A piece of a block, or a whole block. */
export interface Piece {
  type: BlockType;
  offset: number;
  text: string;
  /** The length of a withheld text in bytes; `text` is then empty. */
  withheld?: number;
  data: TextChunk | ArgumentsChunk | SnapshotData;
}

/** Returns the piece in a chunk or snapshot event; null for other events. */
export function pieceOf(e: LogEvent): Piece | null {
  switch (e.event) {
    case "token":
    case "thinking":
    case "terminal":
      return { type: e.event, offset: e.data.offset, ...textOf(e.data), data: e.data };
    case "data":
      return "offset" in e.data
        ? { type: "data", offset: e.data.offset, ...textOf(e.data), data: e.data }
        : null;
    case "snapshot":
      return { type: e.data.type, offset: 0, ...textOf(e.data), data: e.data };
    default:
      return null;
  }
}

function textOf(d: TextChunk | ArgumentsChunk | SnapshotData): Pick<Piece, "text" | "withheld"> {
  if (d.data === undefined) return { text: "", withheld: d.length };
  return { text: typeof d.data === "string" ? d.data : d.data.delta };
}
