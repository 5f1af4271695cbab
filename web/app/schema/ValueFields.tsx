import { type ReactNode, type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { JSONCode } from "../components/Code";
import { Button, inputClass } from "../components/ui";
import { type Draft, draftOf, type Read, readDraft } from "./draft";
import type { Faults } from "./faults";
import { SchemaForm } from "./SchemaForm";
import { type Field, fieldOf, hasForm } from "./shape";

/** The state of an input for a value: typed into a form, or as JSON. */
export interface Value {
  field: Field;
  schema: unknown;
  draft: Draft | undefined;
  /** The text of the JSON; null while the form is shown. */
  json: string | null;
  faults: Faults;
  change: (v: { draft?: Draft; json?: string | null; faults?: Faults }) => void;
  /** Checks what was typed, and shows what is wrong. Returns undefined if something is. */
  take: () => { value: unknown } | undefined;
}

/** The state of the input for a value with a schema. `name` names the value in the page. */
export function useValue(schema: unknown, name: string): Value {
  const field = useMemo(() => fieldOf(schema, name), [schema, name]);
  const formless = !hasForm(field);
  const [draft, setDraft] = useState<Draft | undefined>(undefined);
  const [json, setJSON] = useState<string | null>(null);
  const [faults, setFaults] = useState<Faults>({});
  const change: Value["change"] = (v) => {
    if (v.draft !== undefined) setDraft(v.draft);
    if (v.json !== undefined) setJSON(v.json);
    if (v.faults !== undefined) setFaults(v.faults);
  };
  const shown = json ?? (formless ? "" : null);
  const read = (): Read =>
    shown === null
      ? readDraft(field, draft)
      : readDraft({ ...field, shape: { is: "json" }, required: schema !== undefined }, shown);
  return {
    field,
    schema,
    draft,
    json: shown,
    faults,
    change,
    take: () => {
      const { value, faults: found } = read();
      setFaults(found);
      return Object.keys(found).length === 0 ? { value } : undefined;
    },
  };
}

/** Whenever faults are found, puts the first field that is wrong in view, and the focus on it. */
export function useFaultFocus(form: RefObject<HTMLElement | null>, faults: object): void {
  useEffect(() => {
    if (Object.keys(faults).length === 0) return;
    const first = form.current?.querySelector<HTMLElement>("[aria-invalid=true], [data-invalid]");
    first?.scrollIntoView({ block: "center" });
    first?.focus();
  }, [form, faults]);
}

/** The inputs for a value: a form where the schema allows one, and JSON. Buttons are its children. */
export function ValueFields({ id, value, children }: { id: string; value: Value; children?: ReactNode }) {
  const { field, schema, draft, json, faults, change } = value;
  const fault = faults[field.name];
  const box = useRef<HTMLDivElement>(null);
  useFaultFocus(box, faults);
  return (
    <div ref={box} className="space-y-3">
      {json === null ? (
        <SchemaForm
          id={id}
          field={field}
          draft={draft}
          faults={faults}
          onChange={(d) => change({ draft: d })}
        />
      ) : (
        <div>
          <label htmlFor={`${id}-json`} className="mb-1.5 block text-sm font-medium">
            {field.label} <span className="font-normal text-faint">as JSON</span>
          </label>
          <textarea
            id={`${id}-json`}
            rows={4}
            value={json}
            aria-invalid={Object.keys(faults).length > 0}
            onChange={(e) => change({ json: e.target.value })}
            className={`${inputClass} font-mono text-sm`}
          />
          {Object.entries(faults).map(([path, text]) => (
            <p key={path} role="alert" className="mt-1 text-xs text-bad">
              {path === field.name || text === fault ? text : `${path}: ${text}`}
            </p>
          ))}
          {schema !== undefined && (
            <details className="mt-1 text-xs text-faint">
              <summary>What fits</summary>
              <pre
                tabIndex={0}
                role="group"
                aria-label="What fits"
                className="max-h-48 overflow-auto whitespace-pre-wrap"
              >
                <JSONCode text={JSON.stringify(schema, null, 2)} />
              </pre>
            </details>
          )}
        </div>
      )}
      <div className="flex flex-wrap items-center gap-2">
        {children}
        {hasForm(field) && (
          <Button
            look="quiet"
            onClick={() =>
              change(json === null ? { json: jsonOf(field, draft), faults: {} } : formOf(field, draft, json))
            }
          >
            {json === null ? "Write JSON" : "Use the form"}
          </Button>
        )}
      </div>
    </div>
  );
}

/** Returns what was typed so far as JSON. */
function jsonOf(field: Field, draft: Draft | undefined): string {
  const { value } = readDraft(field, draft);
  return value === undefined ? "" : JSON.stringify(value, null, 2);
}

/** Returns the form with what was written as JSON, if the form can have it. */
function formOf(field: Field, draft: Draft | undefined, json: string): Parameters<Value["change"]>[0] {
  if (json.trim() === "" || json === jsonOf(field, draft)) return { json: null, faults: {} };
  const { value } = readDraft({ ...field, shape: { is: "json" } }, json);
  const written = value === undefined ? undefined : draftOf(field, value);
  if (written !== undefined) return { json: null, draft: written, faults: {} };
  const why = "The form cannot show what was written as JSON. It is as it was before.";
  return { json: null, faults: { [field.name]: why } };
}
