import type { Common, DataPayload } from "./events";
import type { CompactionRecord, Content, Entry, Part, Role, Status, Usage, Wait, WaitReason } from "./types";

/** The activity of a run in a user's terms. */
export type Phase = "queued" | "working" | "asks" | "your_turn" | "sleeping" | "cancelling" | "ended";

export interface TextView {
  type: "text" | "thinking";
  text: string;
  /** More text may follow. */
  open: boolean;
}

export interface ImageView {
  type: "image";
  data: string;
  mimeType: string;
}

/** A file, or an image that its provider fetches. Only its name is shown. */
export interface FileView {
  type: "file";
  text: string;
}

export interface TerminalView {
  stream: "stdout" | "stderr";
  text: string;
  open: boolean;
  /** The rest was discarded. */
  truncated: boolean;
}

/**
 * `writing`: the model writes the arguments. `waiting`: the arguments are complete.
 * `running`: the tool runs. `done`, `failed`: there is a result.
 */
export type ToolCallState = "writing" | "waiting" | "running" | "done" | "failed";

export interface ToolCallView {
  type: "toolCall";
  id: string;
  name: string;
  /** The arguments as the model has written them so far. */
  rawArguments: string;
  /** Set once the arguments are stored, if they are JSON. */
  arguments?: unknown;
  state: ToolCallState;
  /** In the order in which the outputs began. Not on the stream `agent`. */
  terminal: TerminalView[];
  result: { parts: Part[]; isError: boolean } | null;
  /**
   * The stored result, if it is not loaded. `result` is then the beginning of its text, or
   * null.
   */
  absent: Absent | null;
  /** The start and the end of the newest attempt. Not on the stream `agent`. */
  startedAt: string | null;
  endedAt: string | null;
}

/**
 * Content that is not loaded, because it is over 256 KiB or on the worker of a LOCAL
 * execution. `Executions.wholeEntry` fetches it, and a follower's `supply` adds it to the
 * view.
 */
export interface Absent {
  entryId: string;
  bytes: number;
  /**
   * Only the worker has the content, and the worker may be away. Otherwise the server has
   * it.
   */
  onWorker: boolean;
}

export type PartView = TextView | ImageView | FileView | ToolCallView;

export interface MessageView {
  /** The entry's id, known before the entry is stored. */
  id: string;
  role: Role;
  /** The message is a stored entry. Otherwise it is output that is being streamed. */
  stored: boolean;
  turnId: string | null;
  responseId: string | null;
  parts: PartView[];
  /** The stored content, if it is not loaded. `parts` are then the streamed parts. */
  absent: Absent | null;
  model: string | null;
  usage: Usage | null;
  stopReason: string | null;
  createdAt: string;
}

/** A message of the user that was received and is not yet part of the conversation. */
export interface QueuedMessage {
  signalId: string;
  parts: Part[];
  createdAt: string;
}

/** A compaction: the model sees a summary instead of an earlier part of the conversation. */
export interface CompactionView {
  /** The entry's id. */
  id: string;
  /** The id of the last message before it; null if none is loaded. */
  after: string | null;
  /** Empty while it is not loaded. */
  summary: string;
  absent: Absent | null;
  /** Null if only the worker of a LOCAL execution has it. */
  record: CompactionRecord | null;
  createdAt: string;
}

/** Returns a compaction in a line, such as "48 messages summarized, 112 k → 4.0 k tokens". */
export function compactionLine({ record }: CompactionView): string {
  if (!record) return "compaction";
  const messages = record.messages === 1 ? "message" : "messages";
  return `${record.messages} ${messages} summarized, ${tokens(record.tokensBefore)} → ${tokens(record.tokensAfter)} tokens`;
}

function tokens(n: number): string {
  if (n < 1000) return String(n);
  if (n < 9_950) return `${(Math.round(n / 100) / 10).toFixed(1)} k`;
  if (n < 999_500) return `${Math.round(n / 1000)} k`;
  return `${(Math.round(n / 100_000) / 10).toFixed(1)} M`;
}

/** The view of an execution that clients show. */
export interface ExecutionView {
  /** Null while it is unknown. */
  status: Status | null;
  waitReason: WaitReason | null;
  wait: Wait | null;
  phase: Phase;
  /**
   * The run works, or is about to, without action of the user. This includes waiting for a
   * task.
   */
  running: boolean;
  /**
   * A message can be sent. While the run works, the message steers it; while it waits, it
   * is a follow-up.
   */
  inputEnabled: boolean;
  input: "steer" | "follow_up" | null;
  ended: boolean;
  messages: MessageView[];
  /** Oldest first. They are no messages: each stands between two of them. */
  compactions: CompactionView[];
  /** The agent is making a summary. */
  compacting: boolean;
  /** The number of entries of the path before the first loaded message. */
  entriesBefore: number;
  queued: QueuedMessage[];
  /** The newest error; null once the run continues. */
  error: { message: string; code: string } | null;
  /** Why the newest response has ended, such as `end_turn`, `turn_limit`, `error`; null while it goes on. */
  stopReason: string | null;
  /** The newest checkpoint's number; 0 while none is known. */
  checkpoint: number;
  /** The newest plan, as the agent emitted it. */
  plan: unknown;
  files: { path: string; action: string; seq: number }[];
  /** Events `data` with application-defined types. */
  others: { seq: number; data: DataPayload }[];
}

/** The phase of a wait by its reason. A reason that is not known here is that of a later server. */
const phases: Record<WaitReason, Phase> & Record<string, Phase | undefined> = {
  task: "working",
  question: "asks",
  signal: "your_turn",
  timer: "sleeping",
};

/**
 * Returns the phase that follows from status and reason alone. A run with a reason that is
 * not known is at work.
 */
export function phaseOf(status: Status | null, reason: WaitReason | null): Phase {
  switch (status) {
    case "RUNNING":
      return "working";
    case "WAITING":
      return reason === null ? "your_turn" : (phases[reason] ?? "working");
    case "CANCELLING":
      return "cancelling";
    case "COMPLETED":
    case "FAILED":
    case "CANCELLED":
      return "ended";
    default:
      return "queued";
  }
}

/**
 * Reports whether a signal ends the wait. For example, a message does not end a wait for
 * the model; it is read later.
 */
export function wakes(wait: Wait | null, reason: WaitReason | null, signal: string): boolean {
  if (!wait) return reason !== "task" && reason !== "question";
  if (wait.any) return wait.any.some((w) => wakes(w, reason, signal));
  if (wait.all) return wait.all.every((w) => w.met || wakes(w, reason, signal));
  return wait.signal !== undefined && (wait.signal === signal || wait.signal.includes("*"));
}

/** Returns the parts of a `userMessage`, whose value is `{text}` or `{parts}`. */
export function partsOfUserMessage(value: unknown): Part[] {
  const v = (value ?? {}) as { text?: unknown; parts?: unknown };
  if (Array.isArray(v.parts) && v.parts.length > 0) return v.parts as Part[];
  return typeof v.text === "string" ? [{ type: "text", text: v.text }] : [];
}

/**
 * Returns the content of an entry; null if it was left out or is on the worker of a LOCAL
 * execution.
 */
export function contentOf(e: Entry): Content | null {
  return typeof e.content === "object" ? e.content : null;
}

/**
 * Returns the description of an entry's missing content; null if the content is present.
 */
export function absentOf(e: Entry): Absent | null {
  if (contentOf(e)) return null;
  return { entryId: e.id, bytes: e.contentBytes ?? 0, onWorker: e.content === "worker" };
}

export function messageFrom(e: Entry): MessageView {
  const content = contentOf(e);
  const c: Partial<Content> = content ?? {};
  return {
    id: e.id,
    role: e.role ?? "assistant",
    stored: true,
    turnId: e.turnId ?? null,
    responseId: e.responseId ?? null,
    parts: [],
    absent: absentOf(e),
    model: c.provider && c.model ? `${c.provider}/${c.model}` : null,
    usage: c.usage ?? null,
    stopReason: c.stopReason ?? null,
    createdAt: e.createdAt,
  };
}

/** Returns the id of the message to which the records of a place belong. */
export function placeOf(d: Common): string {
  return d.messageId ?? d.taskExecutionId ?? d.turnId ?? d.responseId ?? "";
}
