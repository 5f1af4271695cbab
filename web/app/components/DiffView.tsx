import type { Diff, DiffLine } from "../text/diff";

const looks: Record<DiffLine["kind"], string> = {
  add: "bg-good-soft text-good",
  remove: "bg-bad-soft text-bad",
  same: "text-soft",
  hunk: "bg-sunken text-faint",
  note: "text-faint italic",
};

const signs: Partial<Record<DiffLine["kind"], string>> = { add: "+", remove: "−" };
const words: Partial<Record<DiffLine["kind"], string>> = { add: "added: ", remove: "removed: " };

/** Shows a change of a file, line by line. */
export function DiffView({ diff, label }: { diff: Diff; label: string }) {
  return (
    <figure aria-label={label} className="overflow-hidden rounded-lg border border-line">
      <div
        tabIndex={0}
        role="group"
        aria-label={label}
        className="max-h-96 overflow-auto font-mono text-[12.5px] leading-[1.6]"
      >
        {diff.lines.map((l, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other key
          <div key={i} className={`flex min-w-max ${looks[l.kind]}`}>
            <span aria-hidden="true" className="w-10 shrink-0 pr-2 text-right select-none">
              {l.after ?? l.before ?? ""}
            </span>
            <span aria-hidden="true" className="w-4 shrink-0 select-none">
              {signs[l.kind] ?? ""}
            </span>
            <span className="pr-4 whitespace-pre">
              <span className="sr-only">{words[l.kind]}</span>
              {l.text}
            </span>
          </div>
        ))}
      </div>
    </figure>
  );
}
