import { inputClass } from "../components/ui";
import type { Field, Typed } from "./form";

/** The fields of a form by a schema. */
export function SchemaForm({
  id,
  fields,
  typed,
  onType,
}: {
  /** The beginning of the ids of the inputs. */
  id: string;
  fields: readonly Field[];
  typed: Typed;
  onType: (typed: Typed) => void;
}) {
  return (
    <div className="space-y-3">
      {fields.map((f) => (
        <FieldInput
          key={f.name}
          id={`${id}-${f.name}`}
          field={f}
          value={typed[f.name] ?? ""}
          onChange={(v) => onType({ ...typed, [f.name]: v })}
        />
      ))}
    </div>
  );
}

function FieldInput({
  id,
  field,
  value,
  onChange,
}: {
  id: string;
  field: Field;
  value: string;
  onChange: (value: string) => void;
}) {
  const help = field.description && (
    <span id={`${id}-help`} className="block text-xs text-faint">
      {field.description}
    </span>
  );
  const described = field.description ? { "aria-describedby": `${id}-help` } : {};
  if (field.type === "boolean") {
    return (
      <div>
        <label className="flex items-center gap-2 text-sm">
          <input
            id={id}
            type="checkbox"
            checked={value === "true"}
            onChange={(e) => onChange(String(e.target.checked))}
            {...described}
          />
          {field.label}
        </label>
        {help}
      </div>
    );
  }
  return (
    <div className="space-y-1">
      <label htmlFor={id} className="text-sm font-medium">
        {field.label}
        {!field.required && <span className="font-normal text-faint"> (optional)</span>}
      </label>
      {field.options.length > 0 ? (
        <select
          id={id}
          value={value}
          onChange={(e) => onChange(e.target.value)}
          className={inputClass}
          {...described}
        >
          <option value="">Choose…</option>
          {field.options.map((o) => (
            <option key={o}>{o}</option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          value={value}
          inputMode={field.type === "string" ? "text" : "decimal"}
          onChange={(e) => onChange(e.target.value)}
          className={inputClass}
          {...described}
        />
      )}
      {help}
    </div>
  );
}
