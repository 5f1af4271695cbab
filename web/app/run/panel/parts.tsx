import { type ReactNode, useMemo } from "react";
import type { ExecutionView } from "../../../client/src/index";
import { JSONCode } from "../../components/Code";

export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="border-b border-line px-4 py-4 last:border-0">
      <h2 className="mb-2.5 text-xs font-semibold tracking-wide text-faint uppercase">{title}</h2>
      {children}
    </section>
  );
}

/** Names and values. A row without a value is left out. */
export function Facts({ of }: { of: [name: string, value: ReactNode][] }) {
  return (
    <dl className="grid grid-cols-[7.5rem_1fr] gap-x-3 gap-y-1.5 text-sm">
      {of
        .filter(([, value]) => value !== null && value !== undefined && value !== "")
        .map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-faint">{name}</dt>
            <dd className="min-w-0 [overflow-wrap:anywhere]">{value}</dd>
          </div>
        ))}
    </dl>
  );
}

export function Json({ value, label }: { value: unknown; label: string }) {
  const text = useMemo(() => JSON.stringify(value, null, 2), [value]);
  return (
    <pre
      tabIndex={0}
      role="group"
      aria-label={label}
      className="max-h-72 overflow-auto rounded-lg bg-sunken px-3 py-2 font-mono text-xs leading-relaxed [overflow-wrap:anywhere] whitespace-pre-wrap"
    >
      {value === "worker" ? "On its worker, which is away." : <JSONCode text={text} />}
    </pre>
  );
}

/** Returns a number that changes with every new checkpoint and with the end of the run. */
export const positionOf = (view: ExecutionView) => view.checkpoint * 2 + (view.ended ? 1 : 0);
