import type { ReactNode } from "react";
import { inputClass } from "../components/ui";
import type { Field } from "./shape";

/** Returns the id of the input at a path. Lists of ids are separated by spaces, so it has none. */
export const idAt = (id: string, path: string) => `${id}-${path}`.replace(/\s/g, "_");

export const Optional = ({ of }: { of: Field }) =>
  of.required ? null : <span className="font-normal text-faint"> (optional)</span>;

/** What is wrong. It takes the focus itself if no input does: `alone`. */
export function Fault({
  id,
  text,
  alone = false,
}: {
  id: string;
  text: string | undefined;
  alone?: boolean;
}): ReactNode {
  if (!text) return null;
  return (
    <p
      id={`${id}-fault`}
      role="alert"
      className="mt-1 rounded text-xs text-bad"
      {...(alone ? { tabIndex: -1, "data-invalid": true } : {})}
    >
      {text}
    </p>
  );
}

/** The input of one plain value. `label` names it where no label of the page does. */
export function Control({
  id,
  field,
  value,
  fault,
  onChange,
  label,
}: {
  id: string;
  field: Field;
  value: string;
  fault: string | undefined;
  onChange: (value: string) => void;
  label?: string;
}) {
  const about = [field.description && `${id}-help`, fault && `${id}-fault`].filter(Boolean).join(" ");
  const common = {
    id,
    "aria-invalid": Boolean(fault),
    ...(about ? { "aria-describedby": about } : {}),
    ...(label ? { "aria-label": label } : {}),
  };
  const { shape } = field;
  switch (shape.is) {
    case "boolean":
      return (
        <input
          {...common}
          type="checkbox"
          checked={value === "true"}
          onChange={(e) => onChange(String(e.target.checked))}
          className="accent-accent"
        />
      );
    case "choice":
      return (
        <select {...common} value={value} onChange={(e) => onChange(e.target.value)} className={inputClass}>
          <option value="">Choose…</option>
          {shape.options.map(({ value: v, label: name }) => (
            <option key={JSON.stringify(v)} value={JSON.stringify(v)}>
              {name}
            </option>
          ))}
        </select>
      );
    case "json":
      return (
        <textarea
          {...common}
          rows={3}
          value={value}
          placeholder="JSON"
          onChange={(e) => onChange(e.target.value)}
          className={`${inputClass} font-mono text-sm`}
        />
      );
    default:
      return (
        <input
          {...common}
          value={value}
          inputMode={shape.is === "string" ? "text" : "decimal"}
          onChange={(e) => onChange(e.target.value)}
          className={inputClass}
        />
      );
  }
}
