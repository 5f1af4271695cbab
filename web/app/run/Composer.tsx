import { ComposerPrimitive } from "@assistant-ui/react";
import { Link } from "@tanstack/react-router";
import type { ExecutionView } from "../../client/src/index";
import { SendIcon } from "../components/icons";
import { buttonClass } from "../components/ui";

/** Where a message is written: it steers a run that works, and goes on with one that waits. */
export function Composer({ view, known }: { view: ExecutionView; known: boolean }) {
  if (known && view.ended) return <Over />;
  const hint =
    view.input === "follow_up"
      ? "Reply to the agent…"
      : view.input === "steer"
        ? "Steer the agent while it works…"
        : "";
  return (
    <div className="mx-auto w-full max-w-3xl px-4 pb-4 sm:px-6 sm:pb-5">
      <ComposerPrimitive.Root className="flex items-end gap-2 rounded-2xl border border-line-strong bg-surface p-2 shadow-sm transition-shadow focus-within:border-accent focus-within:ring-3 focus-within:ring-accent/20">
        <ComposerPrimitive.Input
          aria-label="Message to the agent"
          placeholder={hint || "…"}
          disabled={known && !view.inputEnabled}
          maxRows={12}
          minRows={1}
          autoFocus
          addAttachmentOnPaste={false}
          className="max-h-72 min-h-9 flex-1 resize-none bg-transparent px-2.5 py-1.5 outline-none disabled:opacity-60"
        />
        <ComposerPrimitive.Send
          aria-label="Send"
          title="Send (Enter)"
          className="inline-flex size-9 shrink-0 items-center justify-center rounded-xl bg-accent text-accent-ink transition hover:brightness-110 disabled:bg-line-strong disabled:text-surface"
        >
          <SendIcon />
        </ComposerPrimitive.Send>
      </ComposerPrimitive.Root>
      <p className="mt-1.5 px-2 text-xs text-faint max-sm:hidden">
        Enter sends, Shift+Enter begins a line.{" "}
        {view.input === "steer" && "The agent reads it after the tools that already run."}
      </p>
    </div>
  );
}

function Over() {
  return (
    <div className="mx-auto mb-4 flex w-full max-w-3xl px-4 sm:px-6">
      <div className="flex flex-1 items-center justify-between gap-3 rounded-2xl border border-line bg-surface px-4 py-3">
        <p className="text-sm text-faint">This run has ended and takes no more messages.</p>
        <Link to="/ai/runs/new" search={{}} className={buttonClass()}>
          New run
        </Link>
      </div>
    </div>
  );
}
