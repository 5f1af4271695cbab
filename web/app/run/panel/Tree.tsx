import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { treeQuery } from "../../api/queries";
import { Empty, ErrorBanner, Spinner } from "../../components/ui";
import { branchesOf } from "../../fold/tree";
import { clock } from "../../text/format";
import { positionOf } from "./parts";
import type { PanelProps } from "./SidePanel";

/** Every entry of the conversation, also those beside the path that the model sees. */
export function Tree({ id, state }: PanelProps) {
  const all = useQuery(treeQuery(id, positionOf(state.view)));
  const rows = useMemo(() => branchesOf(all.data ?? []), [all.data]);
  if (all.isError)
    return (
      <div className="p-4">
        <ErrorBanner error={all.error} what="The entries cannot be read" retry={() => void all.refetch()} />
      </div>
    );
  if (!all.data)
    return (
      <div className="p-4">
        <Spinner />
      </div>
    );
  if (rows.length === 0) return <Empty title="No entries yet" />;
  return (
    <ol aria-label="Entries" className="py-2 text-[13px]">
      {rows.map((r) => (
        <li
          key={r.entry.id}
          className={`flex items-baseline gap-2 px-4 py-1 hover:bg-sunken ${r.beside ? "text-faint" : ""}`}
          style={{ paddingLeft: `${1 + r.depth * 1.1}rem` }}
        >
          <span aria-hidden="true" className="font-mono text-faint">
            {r.beside ? "└" : "•"}
          </span>
          <span
            className={`w-20 shrink-0 font-medium ${r.entry.role === "user" ? "text-accent-strong" : ""}`}
          >
            {r.label}
          </span>
          <span className="min-w-0 flex-1 truncate text-soft">{r.text}</span>
          <span className="text-xs whitespace-nowrap text-faint">{clock(r.entry.createdAt)}</span>
        </li>
      ))}
    </ol>
  );
}
