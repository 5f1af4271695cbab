import { type KeyboardEvent, type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { ChevronIcon, CloseIcon } from "../components/icons";
import { IconButton, inputClass } from "../components/ui";
import { found, type Match, matchAt, numberOf } from "../fold/find";
import type { Row } from "../fold/rows";
import { useMarks } from "./marks";

/** Finds a text in all messages of a run. Enter goes to older matches, Shift+Enter to newer ones. */
export function FindBar({
  rows,
  hasOlder,
  loadingOlder,
  onOlder,
  onFound,
  onClose,
  scroller,
}: {
  rows: readonly Row[];
  hasOlder: boolean;
  loadingOlder: boolean;
  onOlder: () => void;
  /** Shows the match of the text. */
  onFound: (match: Match | null, text: string) => void;
  onClose: () => void;
  scroller: RefObject<HTMLDivElement | null>;
}) {
  const [wanted, setWanted] = useState("");
  const [chosen, setChosen] = useState<Match | null>(null);
  const all = useMemo(() => found(rows, wanted), [rows, wanted]);
  const kept = chosen === null ? -1 : numberOf(all, chosen);
  const at = kept < 0 ? all.total - 1 : kept;
  const current = matchAt(all, at);
  const searches = wanted.trim() !== "" && hasOlder;

  const first = rows[0]?.id;
  const text = wanted.trim().toLowerCase();
  const { id = null, n = 0 } = current ?? {};
  // biome-ignore lint/correctness/useExhaustiveDependencies: older rows move the match that was found
  useEffect(() => onFound(id === null ? null : { id, n }, text), [id, n, text, onFound, first]);
  useEffect(() => () => onFound(null, ""), [onFound]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a quick page changes the rows alone
  useEffect(() => {
    if (searches && !loadingOlder) onOlder();
  }, [searches, loadingOlder, onOlder, rows]);
  useMarks(scroller, wanted, current, rows);

  const want = (next: string) => {
    setWanted(next);
    setChosen(null); // another text begins at its newest match
  };
  const go = (step: number) => {
    if (all.total > 0) setChosen(matchAt(all, (at + step + all.total) % all.total));
  };
  const onKey = (e: KeyboardEvent) => {
    if (e.key === "Escape") onClose();
    else if (e.key === "Enter") go(e.shiftKey ? 1 : -1);
    else return;
    e.preventDefault();
  };
  return (
    <search className="flex items-center gap-1 border-b border-line bg-surface px-4 py-1.5">
      <Field value={wanted} onChange={want} onKey={onKey} />
      <span role="status" className="px-1 text-xs whitespace-nowrap text-faint tabular-nums">
        {all.total > 0 && `${at + 1} of ${all.total}`}
        {wanted.trim() !== "" && all.total === 0 && !searches && "Not found"}
        {searches && " searching…"}
      </span>
      <IconButton label="Older match (Enter)" disabled={all.total === 0} onClick={() => go(-1)}>
        <ChevronIcon className="size-4 -rotate-90" />
      </IconButton>
      <IconButton label="Newer match (Shift+Enter)" disabled={all.total === 0} onClick={() => go(1)}>
        <ChevronIcon className="size-4 rotate-90" />
      </IconButton>
      <IconButton label="Close the search" onClick={onClose}>
        <CloseIcon />
      </IconButton>
    </search>
  );
}

function Field({
  value,
  onChange,
  onKey,
}: {
  value: string;
  onChange: (text: string) => void;
  onKey: (e: KeyboardEvent) => void;
}) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <input
      ref={field}
      type="search"
      aria-label="Find in the run"
      placeholder="Find in the run"
      value={value}
      onChange={(e) => onChange(e.target.value)}
      onKeyDown={onKey}
      className={`${inputClass} py-1`}
    />
  );
}
