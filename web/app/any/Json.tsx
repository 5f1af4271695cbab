import { useId, useState } from "react";
import { JSONCode } from "../components/Code";
import { Button, CopyButton } from "../components/ui";
import { size } from "../text/format";

/** The number of lines from which JSON is folded. */
const foldFrom = 14;

/** A value as JSON, folded if it is long. `bytes` is the size of a value that was left out. */
export function FoldedJson({
  value,
  label,
  bytes,
  titled = false,
}: {
  value: unknown;
  label: string;
  /** Shows the label, where no heading does. */
  titled?: boolean;
  bytes?: number | undefined;
}) {
  const [open, setOpen] = useState(false);
  const id = useId();
  if (value === "worker") return <p className="text-sm text-faint">On its worker, which is away.</p>;
  if ((value === null || value === undefined) && bytes)
    return (
      <p className="text-sm text-faint">
        {size(bytes)}, too large for this page. <code>perdure show</code> prints it.
      </p>
    );
  const text = JSON.stringify(value ?? null, null, 2);
  const lines = text.split("\n").length;
  const folds = lines > foldFrom || text.length > 1_500;
  return (
    <div>
      {titled && <p className="mb-1 text-xs text-faint">{label}</p>}
      <div className="relative">
        <pre
          id={id}
          tabIndex={0}
          role="group"
          aria-label={label}
          className={`overflow-auto rounded-lg bg-sunken py-2 pr-10 pl-3 font-mono text-xs leading-relaxed [overflow-wrap:anywhere] whitespace-pre-wrap ${folds && !open ? "max-h-48" : "max-h-[70vh]"}`}
        >
          <JSONCode text={text} />
        </pre>
        <span className="absolute top-1 right-1">
          <CopyButton text={text} label={`Copy the ${label.toLowerCase()}`} />
        </span>
      </div>
      {folds && (
        <Button
          look="quiet"
          className="mt-1"
          aria-expanded={open}
          aria-controls={id}
          onClick={() => setOpen(!open)}
        >
          {open ? "Fold" : `Show all ${lines} lines`}
        </Button>
      )}
    </div>
  );
}
