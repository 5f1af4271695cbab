export { Backoff, type BackoffOptions, type Clock, systemClock } from "./backoff";
export { BulkActions, type BulkRequest } from "./bulk";
export { ModelCalls } from "./calls";
export * from "./client";
export { type ErrorCode, PerdureError } from "./errors";
export * from "./events";
export { type Base, fileText, foldView, ViewFold } from "./fold";
export { StreamFollower, type StreamFollowOptions } from "./follower";
export { type Connection, type Followed, Following, type FollowOptions } from "./following";
export { HeldLog, type Outcome, type Page } from "./held";
export {
  getMaxSeq,
  getSyncSeq,
  type HeldBlock,
  type HeldEvent,
  type Message,
  mergeMessagesWithSync,
  messageOf,
} from "./messages";
export { type Prompt, PromptQueue, type PromptState, partsOfPrompt, valueOfPrompt } from "./prompts";
export {
  type AnswerBody,
  type GrantFilter,
  type OpenQuestions,
  type QuestionEvent,
  type QuestionFilter,
  Questions,
  type Remember,
} from "./questions";
export { type PageOptions, Queues, Workers } from "./queues";
export { type OpenWebSocket, SocketFollower, type SocketFollowOptions, type WebSocketLike } from "./socket";
export type { Position } from "./stream";
export { Transport, type TransportOptions } from "./transport";
export * from "./types";
export {
  type Absent,
  absentOf,
  type CompactionView,
  compactionLine,
  contentOf,
  type ExecutionView,
  type FileView,
  type ImageView,
  type MessageView,
  type PartView,
  type Phase,
  phaseOf,
  type QueuedMessage,
  type TerminalView,
  type TextView,
  type ToolCallState,
  type ToolCallView,
} from "./view";
export { type DeliveryFilter, Webhooks } from "./webhooks";
