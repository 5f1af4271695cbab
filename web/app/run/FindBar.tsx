import { type KeyboardEvent, type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { ChevronIcon, CloseIcon } from "../components/icons";
import { IconButton, inputClass } from "../components/ui";
import { found } from "../fold/find";
import type { Row } from "../fold/rows";

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
  /** Shows the row. */
  onFound: (id: string | null) => void;
  onClose: () => void;
  scroller: RefObject<HTMLDivElement | null>;
}) {
  const [wanted, setWanted] = useState("");
  const [chosen, setChosen] = useState<string | null>(null);
  const ids = useMemo(() => found(rows, wanted), [rows, wanted]);
  const at = chosen === null ? -1 : ids.indexOf(chosen);
  const current = at < 0 ? (ids.at(-1) ?? null) : chosen;
  const searches = wanted.trim() !== "" && hasOlder;

  const first = rows[0]?.id;
  // biome-ignore lint/correctness/useExhaustiveDependencies: older rows move the row that was found
  useEffect(() => onFound(current), [current, onFound, first]);
  useEffect(() => () => onFound(null), [onFound]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a quick page changes the rows alone
  useEffect(() => {
    if (searches && !loadingOlder) onOlder();
  }, [searches, loadingOlder, onOlder, rows]);
  useMarks(scroller, wanted);

  const go = (step: number) => {
    if (ids.length > 0)
      setChosen(ids[((at < 0 ? ids.length - 1 : at) + step + ids.length) % ids.length] ?? null);
  };
  const onKey = (e: KeyboardEvent) => {
    if (e.key === "Escape") onClose();
    else if (e.key === "Enter") go(e.shiftKey ? 1 : -1);
    else return;
    e.preventDefault();
  };
  return (
    <search className="flex items-center gap-1 border-b border-line bg-surface px-4 py-1.5">
      <Field value={wanted} onChange={setWanted} onKey={onKey} />
      <span role="status" className="px-1 text-xs whitespace-nowrap text-faint tabular-nums">
        {wanted.trim() !== "" && ids.length > 0 && `${(at < 0 ? ids.length - 1 : at) + 1} of ${ids.length}`}
        {wanted.trim() !== "" && ids.length === 0 && !searches && "Not found"}
        {searches && " searching…"}
      </span>
      <IconButton label="Older match (Enter)" disabled={ids.length === 0} onClick={() => go(-1)}>
        <ChevronIcon className="size-4 -rotate-90" />
      </IconButton>
      <IconButton label="Newer match (Shift+Enter)" disabled={ids.length === 0} onClick={() => go(1)}>
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

const marks = "perdure-find";

/** Marks the text in the rows that are drawn, where the browser can do this without changing them. */
function useMarks(scroller: RefObject<HTMLDivElement | null>, wanted: string): void {
  useEffect(() => {
    const text = wanted.trim().toLowerCase();
    const box = scroller.current;
    if (!box || text === "" || !("highlights" in CSS)) return;
    const mark = () => CSS.highlights.set(marks, new Highlight(...rangesOf(box, text)));
    let frame = requestAnimationFrame(mark);
    const observer = new MutationObserver(() => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(mark);
    });
    observer.observe(box, { subtree: true, childList: true, characterData: true });
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame);
      CSS.highlights.delete(marks);
    };
  }, [scroller, wanted]);
}

function rangesOf(box: HTMLElement, text: string): Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const inNode = (node.textContent ?? "").toLowerCase();
    if (inNode.length !== node.textContent?.length) continue; // a letter has another length in lower case
    for (let at = inNode.indexOf(text); at >= 0; at = inNode.indexOf(text, at + text.length)) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + text.length);
      ranges.push(range);
    }
  }
  return ranges;
}
