import { useQuery } from "@tanstack/react-query";
import { checkpointsQuery } from "../../api/queries";
import { Empty, ErrorBanner, Spinner } from "../../components/ui";
import { clock } from "../../text/format";
import { Json } from "./parts";
import type { PanelProps } from "./SidePanel";

/** The checkpoints, from which the run can resume after a crash, newest first. */
export function Checkpoints({ id, state }: PanelProps) {
  const all = useQuery(checkpointsQuery(id, state.view.checkpoint));
  if (all.isError)
    return (
      <div className="p-4">
        <ErrorBanner
          error={all.error}
          what="The checkpoints cannot be read"
          retry={() => void all.refetch()}
        />
      </div>
    );
  if (!all.data)
    return (
      <div className="p-4">
        <Spinner />
      </div>
    );
  if (all.data.length === 0)
    return <Empty title="No checkpoints yet">The first comes with the first model call.</Empty>;
  return (
    <ul aria-label="Checkpoints" className="divide-y divide-line">
      {[...all.data].reverse().map((c) => {
        const about = (c.metadata ?? {}) as { checkpoint_reason?: string; entry_count?: number };
        return (
          <li key={c.sequence}>
            <details>
              <summary className="flex list-none items-center gap-3 px-4 py-2.5 text-sm hover:bg-sunken [&::-webkit-details-marker]:hidden">
                <span className="w-9 font-mono text-[13px] text-soft">#{c.sequence}</span>
                <span className="min-w-0 flex-1 truncate">{about.checkpoint_reason ?? "checkpoint"}</span>
                <span className="text-xs text-faint">
                  {about.entry_count !== undefined &&
                    `${about.entry_count} ${about.entry_count === 1 ? "entry" : "entries"} · `}
                  {clock(c.createdAt)}
                </span>
              </summary>
              <div className="px-4 pb-3">
                <Json label={`State of checkpoint ${c.sequence}`} value={c.state} />
              </div>
            </details>
          </li>
        );
      })}
    </ul>
  );
}
