import { useAuiState } from "@assistant-ui/react";
import type { MessageView } from "../../client/src/index";
import { ChevronIcon, ThoughtIcon } from "../components/icons";
import { firstLine } from "../text/format";
import { unsearched } from "./marks";
import { useOpened } from "./opened";

/** The thinking of the model. It is collapsed once the answer begins. */
export function Thinking({ text }: { text: string }) {
  const id = useAuiState(
    (s) => `${s.message.id} ${s.message.content.findIndex((p) => p.type === "reasoning" && p.text === text)}`,
  );
  const m = useAuiState((s) => s.message.metadata.custom.of) as MessageView;
  const now = m.parts.some((p) => p.type === "thinking" && p.text === text && p.open);
  const [open, setOpen] = useOpened(id, now);
  return (
    <details
      open={open}
      className="group text-sm"
      onToggle={(e) => {
        if (e.currentTarget.open !== open) setOpen(e.currentTarget.open);
      }}
    >
      <summary className="flex w-fit max-w-full list-none items-center gap-1.5 rounded-md py-0.5 text-faint hover:text-ink [&::-webkit-details-marker]:hidden">
        <ThoughtIcon className="size-4" />
        <span className="font-medium" {...unsearched}>
          {now ? "Thinking" : "Thought"}
        </span>
        <span className="truncate group-open:hidden" {...unsearched}>
          · {firstLine(text, 80)}
        </span>
        <ChevronIcon className="size-3.5 transition-transform group-open:rotate-90" />
      </summary>
      <p className="mt-1.5 ml-2 border-l-2 border-line pl-4 [overflow-wrap:anywhere] whitespace-pre-wrap text-soft">
        {text}
      </p>
    </details>
  );
}
