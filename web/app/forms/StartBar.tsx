import { Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { Button, buttonClass, ErrorBanner } from "../components/ui";

/** The end of a form that starts a run: its error, and its buttons. */
export function StartBar({ error, busy, waiting }: { error: Error | null; busy: boolean; waiting: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  // Where a field is wrong, the field is put in view.
  useEffect(() => {
    if (!error) return;
    const frame = requestAnimationFrame(() => {
      if (!document.querySelector("form :is([aria-invalid=true], [data-invalid])"))
        box.current?.scrollIntoView({ block: "nearest" });
    });
    return () => cancelAnimationFrame(frame);
  }, [error]);
  return (
    <>
      {waiting && (
        <p role="status" className="text-sm text-faint">
          No worker has registered yet. Waiting for one, up to 10 s.
        </p>
      )}
      <div ref={box}>{error && <ErrorBanner error={error} what="The run could not be started" />}</div>
      <div className="flex justify-end gap-2">
        <Link to="/ai/runs" search={{}} className={buttonClass("quiet")}>
          Back
        </Link>
        <Button type="submit" look="primary" disabled={busy}>
          {busy ? "Starting…" : "Start the run"}
        </Button>
      </div>
    </>
  );
}
