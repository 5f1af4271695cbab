import type { components } from "./openapi";

type Schemas = components["schemas"];

/**
 * The reason for which an execution waits. `task` resumes by itself; `question` waits for an
 * answer to a question; `signal` waits for the user. A later server may send others.
 */
export type WaitReason = "task" | "question" | "signal" | "timer";

export type Status = Schemas["Execution"]["status"];
export type Wait = Schemas["Wait"];
export type Task = Schemas["Task"];
export type Question = Schemas["Question"];
export type Approvals = Schemas["Approvals"];
export type ApprovalRule = Schemas["ApprovalRule"];
export type ApprovalGrant = Schemas["ApprovalGrant"];
export type QuestionLink = Schemas["QuestionLink"];
export type NewQuestionLink = Schemas["NewLink"];
export type Worker = Schemas["WorkerInfo"];
export type Queue = Schemas["QueueInfo"];
export type QueuePause = Schemas["QueuePause"];
export type BulkAction = Schemas["BulkAction"];
export type BulkCount = Schemas["BulkCount"];
export type ModelCall = Schemas["ShownCall"];
export type BulkFilter = Schemas["ListFilter"];
export type Webhook = Schemas["Webhook"];
export type NewWebhook = Schemas["NewWebhook"];
export type WebhookBody = Schemas["WebhookBody"];
export type Delivery = Schemas["Delivery"];
export type QuestionStatus = Question["status"];
export type Answer = Schemas["Answer"];
export type Vote = Schemas["Vote"];
export type Checkpoint = Schemas["Checkpoint"];
export type Signal = Schemas["Signal"];
export type Definition = Schemas["Definition"];
export type DefinitionBody = Schemas["DefinitionBody"];
export type ModelConfig = Schemas["ModelConfig"];
export type AgentConfig = Schemas["AgentConfig"];
export type StartBody = Schemas["StartBody"];
export type SignalBody = Schemas["SignalBody"];
export type SignalReply = Schemas["SignalReply"];
export type LoginReply = Schemas["LoginReply"];
export type Problem = Schemas["Problem"];
export type FieldError = Schemas["FieldError"];
export type APIKey = Schemas["APIKey"];
export type NewKey = Schemas["NewKey"];
export type Session = Schemas["Session"];
export type KindInfo = Schemas["KindInfo"];
export type ProviderInfo = Schemas["ProviderInfo"];
export type ModelInfo = Schemas["ModelInfo"];
export type Price = Schemas["Price"];
export type ToolInfo = Schemas["ToolInfo"];
export type KeyRole = APIKey["role"];
export type Role = NonNullable<Schemas["Entry"]["role"]>;

/** One durable run of an agent. */
export type Execution = Omit<Schemas["Execution"], "waitReason" | "metadata" | "usage" | "usageByModel"> & {
  waitReason?: WaitReason;
  metadata: Record<string, unknown>;
  /** In lists: the usage as of the newest checkpoint, if the agent reports it. */
  usage?: Usage;
  usageByModel?: Record<string, Usage>;
};

export interface Usage {
  input: number;
  output: number;
  /** Included in the output tokens; null if the provider does not report it. */
  reasoning: number | null;
  cacheRead: number;
  cacheWrite: number;
  totalTokens: number;
  /** In US dollars; null if no price is known. */
  cost: number | null;
  calls: number;
}

export interface TextPart {
  type: "text";
  text: string;
  textSignature?: string;
}

export interface ThinkingPart {
  type: "thinking";
  thinking?: string;
  thinkingSignature?: string;
  redacted?: boolean;
}

export interface ImagePart {
  type: "image";
  /** Base64. */
  data: string;
  mimeType: string;
  detail?: "low" | "high" | "auto" | "original";
}

/** An image that only its provider fetches. */
export interface ImageLinkPart {
  type: "image";
  url: string;
  detail?: ImagePart["detail"];
}

/** A file is given by data (base64) with its type, by URL or by its provider's id. */
export interface FilePart {
  type: "file";
  data?: string;
  mimeType?: string;
  url?: string;
  fileId?: string;
  filename?: string;
}

export interface ToolCallPart {
  type: "toolCall";
  id: string;
  providerId?: string;
  name: string;
  /** Absent if the model's text is not JSON. */
  arguments?: unknown;
  /** The text as the model wrote it. */
  rawArguments?: string;
}

export interface ToolResultPart {
  type: "toolResult";
  toolCallId: string;
  toolName: string;
  parts?: Part[];
  isError?: boolean;
}

/** The summary of an earlier part of the conversation. It is the only part of its message. */
export interface CompactionPart {
  type: "compaction";
  text: string;
  /** The provider's own block. */
  native?: unknown;
}

/** The metadata of an entry of type `compaction`. */
export type CompactionRecord = Schemas["CompactionRecord"];

/** What the next model call is asked with. */
export type Context = Omit<Schemas["ContextPage"], "entries" | "compaction"> & {
  entries: (Omit<Schemas["ContextEntry"], "entry"> & { entry: Entry })[];
  compaction: { entry: Entry; record: CompactionRecord } | null;
};

/** One piece of a message. */
export type Part =
  | CompactionPart
  | TextPart
  | ThinkingPart
  | ImagePart
  | ImageLinkPart
  | FilePart
  | ToolCallPart
  | ToolResultPart
  | CompactionPart;

export interface Content {
  parts: Part[];
  provider?: string;
  model?: string;
  usage?: Usage;
  stopReason?: string;
}

type Place = "role" | "turnId" | "responseId" | "messageId" | "metadata";

/**
 * A node of the conversation. The event of an entry omits the members of its place that are
 * null.
 */
export type Entry = Omit<Schemas["Entry"], Place | "content"> &
  Partial<Pick<Schemas["Entry"], Place>> & {
    /**
     * Null in an event if the content is over 256 KiB. "worker" if only the worker of a
     * LOCAL execution has it. In both cases, fetch the entry.
     */
    content: Content | "worker" | null;
  };

/** A page of a list. */
export interface List<T> {
  items: T[];
  nextCursor: string | null;
}
