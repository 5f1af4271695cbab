import { MessagePrimitive } from "@assistant-ui/react";
import { type CompactionView, compactionLine } from "../../client/src/index";
import { ChevronIcon } from "../components/icons";
import { Markdown } from "../components/Markdown";
import { AbsentContent } from "./Absent";
import { useOpened } from "./opened";

/** A divider between two messages, which opens to the summary that the model sees. */
export function CompactionDivider({ compaction }: { compaction: CompactionView }) {
  const [open, setOpen] = useOpened(`compaction ${compaction.id}`, false);
  return (
    <MessagePrimitive.Root data-kind="compaction">
      <details
        open={open}
        className="group text-sm"
        onToggle={(e) => {
          if (e.currentTarget.open !== open) setOpen(e.currentTarget.open);
        }}
      >
        <summary className="flex list-none items-center gap-3 rounded-md py-1 text-faint hover:text-ink [&::-webkit-details-marker]:hidden">
          <span aria-hidden className="h-px flex-1 bg-line" />
          <span className="sr-only">Compaction: </span>
          <span>{compactionLine(compaction)}</span>
          <ChevronIcon className="size-3.5 transition-transform group-open:rotate-90" />
          <span aria-hidden className="h-px flex-1 bg-line" />
        </summary>
        <div className="mt-2 space-y-2 rounded-xl border border-line px-4 py-3">
          <p className="text-xs text-faint">
            {reasons[compaction.record?.reason ?? ""]} The model sees this summary instead of the messages
            above that are marked as not seen.
          </p>
          {compaction.absent ? (
            <AbsentContent absent={compaction.absent} what="message" heard={false} />
          ) : (
            <Markdown text={compaction.summary} />
          )}
        </div>
      </details>
    </MessagePrimitive.Root>
  );
}

const reasons: Record<string, string> = {
  automatic: "The conversation came close to the model's window.",
  context_length: "The provider refused the conversation as too long.",
  manual: "A user asked for it.",
  input: "A client sent the summary of an earlier conversation.",
};
