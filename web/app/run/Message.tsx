import { MessagePrimitive, useAuiState } from "@assistant-ui/react";
import type { CompactionView, MessageView, Prompt, ToolCallView } from "../../client/src/index";
import { AlertIcon } from "../components/icons";
import { Markdown } from "../components/Markdown";
import { AbsentContent } from "./Absent";
import { CompactionDivider } from "./CompactionDivider";
import { useRun } from "./context";
import { unsearched } from "./marks";
import { Thinking } from "./Thinking";
import { ToolCard } from "./ToolCard";

/** The data of the row that is not in its parts. */
interface Custom {
  kind: "message" | "compaction" | "queued" | "sent";
  of: unknown;
  /** A compaction hides the message from the model. */
  unseen: boolean;
}

function useCustom(): Custom {
  return useAuiState((s) => s.message.metadata.custom) as unknown as Custom;
}

const userParts = { Text: PlainText, Image: Picture };

export function UserMessage() {
  const { kind, of } = useCustom();
  return kind === "compaction" ? <CompactionDivider compaction={of as CompactionView} /> : <Said />;
}

/** Marks a message that a compaction hides from the model. */
function Unseen() {
  return (
    <p className="text-xs text-faint" {...unsearched}>
      Not seen by the model
    </p>
  );
}

function Said() {
  const { kind, of, unseen } = useCustom();
  return (
    <MessagePrimitive.Root className="flex flex-col items-end" data-role="user" data-kind={kind}>
      <span className="sr-only" {...unsearched}>
        You said:
      </span>
      <div
        className={`max-w-[85%] space-y-2 rounded-2xl rounded-br-md bg-accent-soft px-4 py-2.5 ${
          kind === "sent" && (of as Prompt).state === "refused" ? "ring-1 ring-bad" : ""
        }`}
      >
        <MessagePrimitive.Parts components={userParts} />
        {kind === "message" && <AbsentOf message={of as MessageView} />}
      </div>
      {unseen && <Unseen />}
      {kind === "queued" && <Note>Received, not yet read</Note>}
      {kind === "sent" && <Sent prompt={of as Prompt} />}
    </MessagePrimitive.Root>
  );
}

function AbsentOf({ message }: { message: MessageView }) {
  return message.absent && <AbsentContent absent={message.absent} what="message" heard={false} />;
}

function Sent({ prompt }: { prompt: Prompt }) {
  const { live, connection } = useRun();
  if (prompt.state === "refused") {
    return (
      <div role="alert" className="mt-1 flex items-center gap-2 text-xs text-bad">
        <AlertIcon className="size-3.5" />
        <span>Not sent: {prompt.error?.message}</span>
        <button type="button" className="underline" onClick={() => live.follower.prompts.dismiss(prompt.id)}>
          Dismiss
        </button>
      </div>
    );
  }
  return <Note>{connection === "live" ? "Sending…" : "Will be sent when the server answers"}</Note>;
}

function Note({ children }: { children: React.ReactNode }) {
  return (
    <p className="mt-1 text-xs text-faint" {...unsearched}>
      {children}
    </p>
  );
}

function PlainText({ text }: { text: string }) {
  return <p className="[overflow-wrap:anywhere] whitespace-pre-wrap">{text}</p>;
}

function Picture({ image }: { image: string }) {
  return <img src={image} alt="Part of the conversation" className="max-h-96 max-w-full rounded-lg" />;
}

const assistantParts = {
  Text: ({ text }: { text: string }) => <Markdown text={text} />,
  Reasoning: ({ text }: { text: string }) => <Thinking text={text} />,
  Image: Picture,
  tools: { Fallback: ({ artifact }: { artifact?: unknown }) => <ToolCard call={artifact as ToolCallView} /> },
};

const unusual: Record<string, string> = {
  context_length: "Stopped: the conversation fills the model's window.",
  max_tokens: "Cut off: the model reached its limit of tokens.",
  refusal: "The model declined to answer.",
  error: "The model's answer broke off.",
  cancelled: "Cancelled.",
  turn_limit: "Stopped: the run reached its limit of turns.",
  interrupted: "You stopped this answer.",
};

export function AssistantMessage() {
  const custom = useCustom();
  const m = custom.of as MessageView;
  const stop = m.stopReason ? unusual[m.stopReason] : undefined;
  return (
    <MessagePrimitive.Root
      className="space-y-3"
      data-role="assistant"
      data-kind={m.stored ? "message" : "live"}
    >
      <span className="sr-only" {...unsearched}>
        The agent said:
      </span>
      <MessagePrimitive.Parts components={assistantParts} />
      {m.absent && <AbsentContent absent={m.absent} what="message" heard={m.parts.length > 0} />}
      {stop && (
        <p className="text-sm text-warn" {...unsearched}>
          {stop}
        </p>
      )}
      {custom.unseen && <Unseen />}
    </MessagePrimitive.Root>
  );
}
