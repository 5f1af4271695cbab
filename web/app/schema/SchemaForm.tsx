import type { ReactNode } from "react";
import { CloseIcon, PlusIcon } from "../components/icons";
import { Button, IconButton, inputClass } from "../components/ui";
import type { Draft, Faults, Field, Shape } from "./form";

interface Props {
  /** The beginning of the ids of the inputs. */
  id: string;
  field: Field;
  draft: Draft | undefined;
  faults: Faults;
  onChange: (draft: Draft) => void;
  /** Where the field is in the form's value. */
  path?: string;
}

/** The inputs for a value that a schema describes. */
export function SchemaForm({ path, ...props }: Props) {
  const at = path ?? props.field.name;
  const { shape } = props.field;
  if (shape.is === "object") return <ObjectInput {...props} path={at} fields={shape.fields} />;
  if (shape.is === "list") return <ListInput {...props} path={at} of={shape.of} />;
  return <PlainInput {...props} path={at} />;
}

type At = Props & { path: string };

function ObjectInput({
  id,
  field,
  draft,
  faults,
  onChange,
  path,
  fields,
}: At & { fields: readonly Field[] }) {
  const typed = (typeof draft === "object" && !Array.isArray(draft) ? draft : {}) as Record<string, Draft>;
  const inner = (
    <div className="space-y-4">
      {fields.map((f) => (
        <SchemaForm
          key={f.name}
          id={id}
          field={f}
          draft={typed[f.name]}
          faults={faults}
          path={`${path}.${f.name}`}
          onChange={(d) => onChange({ ...typed, [f.name]: d })}
        />
      ))}
    </div>
  );
  if (!path.includes(".")) {
    return (
      <>
        {inner}
        <Fault id={`${id}-${path}`} text={faults[path]} />
      </>
    );
  }
  return (
    <fieldset className="rounded-lg border border-line px-4 pt-1 pb-4">
      <legend className="px-1 text-sm font-medium">
        {field.label}
        <Optional of={field} />
      </legend>
      {field.description && <p className="mb-2 text-xs text-faint">{field.description}</p>}
      {inner}
      <Fault id={`${id}-${path}`} text={faults[path]} />
    </fieldset>
  );
}

function ListInput({ id, field, draft, faults, onChange, path, of }: At & { of: Shape }) {
  const items = Array.isArray(draft) ? (draft as readonly Draft[]) : [];
  return (
    <fieldset className="space-y-2">
      <legend className="mb-1.5 text-sm font-medium">
        {field.label}
        <Optional of={field} />
      </legend>
      {field.description && <p className="text-xs text-faint">{field.description}</p>}
      {items.map((item, i) => {
        const at = `${id}-${path}.${i}`;
        const one = { ...field, label: `${field.label} ${i + 1}`, required: true, shape: of };
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: items have no other key while they are typed
          <div key={i}>
            <div className="flex items-center gap-2">
              <Control
                id={at}
                field={one}
                value={typeof item === "string" ? item : ""}
                fault={faults[`${path}.${i}`]}
                onChange={(v) => onChange(items.map((d, k) => (k === i ? v : d)))}
                label={one.label}
              />
              <IconButton
                label={`Remove ${one.label}`}
                onClick={() => onChange(items.filter((_, k) => k !== i))}
              >
                <CloseIcon />
              </IconButton>
            </div>
            <Fault id={at} text={faults[`${path}.${i}`]} />
          </div>
        );
      })}
      <Button look="quiet" onClick={() => onChange([...items, ""])}>
        <PlusIcon />
        Add to {field.label}
      </Button>
      <Fault id={`${id}-${path}`} text={faults[path]} />
    </fieldset>
  );
}

function PlainInput({ id, field, draft, faults, onChange, path }: At) {
  const at = `${id}-${path}`;
  const fault = faults[path];
  const control = (
    <Control
      id={at}
      field={field}
      value={typeof draft === "string" ? draft : ""}
      fault={fault}
      onChange={onChange}
    />
  );
  const about = (
    <>
      {field.description && (
        <p id={`${at}-help`} className="mt-1 text-xs text-faint">
          {field.description}
        </p>
      )}
      <Fault id={at} text={fault} />
    </>
  );
  if (field.shape.is === "boolean") {
    return (
      <div>
        <label htmlFor={at} className="flex items-center gap-2 text-sm font-medium">
          {control}
          {field.label}
        </label>
        {about}
      </div>
    );
  }
  return (
    <div>
      <label htmlFor={at} className="mb-1.5 block text-sm font-medium">
        {field.label}
        <Optional of={field} />
      </label>
      {control}
      {about}
    </div>
  );
}

const Optional = ({ of }: { of: Field }) =>
  of.required ? null : <span className="font-normal text-faint"> (optional)</span>;

function Fault({ id, text }: { id: string; text: string | undefined }): ReactNode {
  if (!text) return null;
  return (
    <p id={`${id}-fault`} role="alert" className="mt-1 text-xs text-bad">
      {text}
    </p>
  );
}

/** The input of one plain value. `label` names it where no label of the page does. */
function Control({
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
    ...(about && !label ? { "aria-describedby": about } : {}),
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
          {shape.options.map((o) => (
            <option key={o}>{o}</option>
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
