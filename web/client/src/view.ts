import type { Common, DataPayload } from "./events";
import type { Content, Entry, Part, Role, Status, Usage, Wait, WaitReason } from "./types";

/** What a run is doing, as a user would say it. */
export type Phase = "queued" | "working" | "your_turn" | "sleeping" | "cancelling" | "ended";

export interface TextView {
  type: "text" | "thinking";
  text: string;
  /** More may come. */
  open: boolean;
}

export interface ImageView {
  type: "image";
  data: string;
  mimeType: string;
}

/** A file, or an image that its provider fetches: it is named, and not shown. */
export interface FileView {
  type: "file";
  text: string;
}

export interface TerminalView {
  stream: "stdout" | "stderr";
  text: string;
  open: boolean;
  /** The rest was not kept. */
  truncated: boolean;
}

/**
 * `writing`: the model writes the arguments; `waiting`: it has; `running`: the
 * tool is at work; `done`, `failed`: there is a result.
 */
export type ToolCallState = "writing" | "waiting" | "running" | "done" | "failed";

export interface ToolCallView {
  type: "toolCall";
  id: string;
  name: string;
  /** As the model wrote it so far. */
  rawArguments: string;
  /** Once the whole is stored, and is JSON. */
  arguments?: unknown;
  state: ToolCallState;
  /** In the order in which the outputs began. Not on the stream `agent`. */
  terminal: TerminalView[];
  result: { parts: Part[]; isError: boolean } | null;
  /** The stored result, where it is not here. `result` is the beginning of its text then, or null. */
  absent: Absent | null;
  /** When its newest attempt began, and when it ended. Not on the stream `agent`. */
  startedAt: string | null;
  endedAt: string | null;
}

/**
 * A content that is not here: it is over 256 KiB, or on the worker of a LOCAL
 * execution. `Executions.wholeEntry` fetches it, `supply` of a follower shows it.
 */
export interface Absent {
  entryId: string;
  bytes: number;
  /** It is on the worker, which may be away; the server has it otherwise. */
  onWorker: boolean;
}

export type PartView = TextView | ImageView | FileView | ToolCallView;

export interface MessageView {
  /** The entry's id, known before the entry is stored. */
  id: string;
  role: Role;
  /** It is an entry of the conversation; until then it is what a model, or the agent, is saying. */
  stored: boolean;
  turnId: string | null;
  responseId: string | null;
  parts: PartView[];
  /** The stored content, where it is not here. `parts` are what was heard of it then. */
  absent: Absent | null;
  model: string | null;
  usage: Usage | null;
  stopReason: string | null;
  createdAt: string;
}

/** A message of the user that is received and not yet part of the conversation. */
export interface QueuedMessage {
  signalId: string;
  parts: Part[];
  createdAt: string;
}

/** An execution as its clients show it. */
export interface ExecutionView {
  /** Null while nothing has told. */
  status: Status | null;
  waitReason: WaitReason | null;
  wait: Wait | null;
  phase: Phase;
  /** It works, or is about to, without the user doing anything. A wait for a task counts as that. */
  running: boolean;
  /** A message can be sent. While the run works, the message steers it; while it waits, it follows. */
  inputEnabled: boolean;
  input: "steer" | "follow_up" | null;
  ended: boolean;
  messages: MessageView[];
  /** Entries of the path before the first message that are not here. */
  entriesBefore: number;
  queued: QueuedMessage[];
  /** The newest failure, until the run goes on. */
  error: { message: string; code: string } | null;
  /** The newest checkpoint's number; 0 while none is known. */
  checkpoint: number;
  /** The newest plan, as the agent gave it. */
  plan: unknown;
  files: { path: string; action: string; seq: number }[];
  /** Events `data` of an application's own types. */
  others: { seq: number; data: DataPayload }[];
}

/** What follows from status and reason alone. */
export function phaseOf(status: Status | null, reason: WaitReason | null): Phase {
  switch (status) {
    case "RUNNING":
      return "working";
    case "WAITING":
      return reason === "task" ? "working" : reason === "timer" ? "sleeping" : "your_turn";
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

/** Whether a signal ends the wait. A message while the model is asked, for one, does not: it is read later. */
export function wakes(wait: Wait | null, reason: WaitReason | null, signal: string): boolean {
  if (!wait) return reason !== "task";
  if (wait.any) return wait.any.some((w) => wakes(w, reason, signal));
  if (wait.all) return wait.all.every((w) => w.met || wakes(w, reason, signal));
  return wait.signal !== undefined && (wait.signal === signal || wait.signal.includes("*"));
}

/** The parts of a `userMessage`, whose value is `{text}` or `{parts}`. */
export function partsOfUserMessage(value: unknown): Part[] {
  const v = (value ?? {}) as { text?: unknown; parts?: unknown };
  if (Array.isArray(v.parts) && v.parts.length > 0) return v.parts as Part[];
  return typeof v.text === "string" ? [{ type: "text", text: v.text }] : [];
}

/** The content of an entry; null where it was left out, or is on the worker of a LOCAL execution. */
export function contentOf(e: Entry): Content | null {
  return typeof e.content === "object" ? e.content : null;
}

/** What is to be fetched of an entry; null where its content is here. */
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

/** The message that the records of a place belong to. */
export function placeOf(d: Common): string {
  return d.messageId ?? d.taskExecutionId ?? d.turnId ?? d.responseId ?? "";
}
