import { type ReactNode, useRef } from "react";
import { CloseIcon, PlusIcon } from "../components/icons";
import { Button, IconButton, inputClass } from "../components/ui";
import { Control, Fault, idAt, Optional } from "./Control";
import { chosenOf, type Draft, itemField, itemsOf, memberOf, membersOf } from "./draft";
import type { Faults } from "./faults";
import { type Field, type ListShape, longestList } from "./shape";

interface Props {
  /** The beginning of the ids of the inputs. */
  id: string;
  field: Field;
  draft: Draft | undefined;
  faults: Faults;
  onChange: (draft: Draft) => void;
  /** Where the field is in the form's value. */
  path?: string;
  /** The button that removes the field, if it is an item of a list. */
  remove?: ReactNode;
}

type At = Props & { path: string };

/** The inputs for a value that a schema describes. */
export function SchemaForm({ path, ...props }: Props) {
  const at = path ?? props.field.name;
  const { shape } = props.field;
  switch (shape.is) {
    case "object":
      return <ObjectInput {...props} path={at} fields={shape.fields} />;
    case "list":
      return <ListInput {...props} path={at} shape={shape} />;
    case "oneOf":
      return <OneOfInput {...props} path={at} of={shape.of} />;
    case "fixed":
      return <Fault id={idAt(props.id, at)} text={props.faults[at]} alone />;
    default:
      return <PlainInput {...props} path={at} />;
  }
}

/** A frame with the name of the field. The value of the whole form has none. */
function Frame({
  field,
  path,
  remove,
  children,
}: Pick<At, "field" | "path" | "remove"> & { children: ReactNode }) {
  if (!path.includes(".")) return <div className="space-y-4">{children}</div>;
  return (
    <fieldset className="min-w-0 rounded-lg border border-line px-4 pt-2 pb-4 max-sm:px-3">
      <legend className="px-1 text-sm font-medium">
        {field.label}
        <Optional of={field} />
      </legend>
      {field.description && <p className="mb-2 text-xs text-faint">{field.description}</p>}
      <div className="space-y-4">
        {children}
        {remove}
      </div>
    </fieldset>
  );
}

function ObjectInput(props: At & { fields: readonly Field[] }) {
  const { id, path, faults } = props;
  return (
    <Frame {...props}>
      <Members {...props} />
      <Fault id={idAt(id, path)} text={faults[path]} alone />
    </Frame>
  );
}

function Members({ id, draft, faults, onChange, path, fields }: At & { fields: readonly Field[] }) {
  return fields.map((f) => (
    <SchemaForm
      key={f.name}
      id={id}
      field={f}
      draft={memberOf(draft, f.name)}
      faults={faults}
      path={`${path}.${f.name}`}
      onChange={(d) => onChange({ ...membersOf(draft), [f.name]: d })}
    />
  ));
}

/** A choice of alternatives, and the inputs of the chosen one. */
function OneOfInput(props: At & { of: readonly Field[] }) {
  const { id, field, draft, faults, onChange, path, of } = props;
  const one = chosenOf(field, of, draft);
  const chosen = String(memberOf(draft, "chosen") ?? "");
  const at = `${idAt(id, path)}-kind`;
  const fault = one ? undefined : faults[path];
  const inner = {
    id: `${id}-${chosen}`,
    path,
    faults,
    draft: memberOf(draft, chosen),
    onChange: (d: Draft) => onChange({ ...membersOf(draft), [chosen]: d }),
  };
  return (
    <Frame {...props}>
      <div>
        <select
          id={at}
          aria-label={`Kind of ${field.label}`}
          aria-invalid={Boolean(fault)}
          {...(fault ? { "aria-describedby": `${at}-fault` } : {})}
          value={chosen}
          onChange={(e) => onChange({ ...membersOf(draft), chosen: e.target.value })}
          className={inputClass}
        >
          <option value="">Choose…</option>
          {of.map((f, i) => (
            <option key={f.label} value={i}>
              {f.label}
            </option>
          ))}
        </select>
        <Fault id={at} text={fault} />
      </div>
      {one?.description && <p className="text-xs text-faint">{one.description}</p>}
      {one?.shape.is === "object" ? (
        <>
          <Members {...inner} field={one} fields={one.shape.fields} />
          <Fault id={idAt(id, path)} text={faults[path]} alone />
        </>
      ) : (
        one && (
          <SchemaForm
            {...inner}
            field={{ ...one, description: undefined, label: of[Number(chosen)]?.label ?? one.label }}
          />
        )
      )}
    </Frame>
  );
}

function ListInput({ id, field, draft, faults, onChange, path, shape, remove }: At & { shape: ListShape }) {
  const add = useRef<HTMLButtonElement>(null);
  const items = itemsOf(field, shape, draft);
  const full = items.length >= shape.most;
  const removable = !field.required || items.length > shape.least;
  const without = (i: number) => {
    onChange(items.filter((_, k) => k !== i));
    add.current?.focus();
  };
  return (
    <fieldset className="min-w-0 space-y-2">
      <legend className="mb-1.5 text-sm font-medium">
        {field.label}
        <Optional of={field} />
      </legend>
      {field.description && <p className="text-xs text-faint">{field.description}</p>}
      {items.map((item, i) => (
        <Item
          // biome-ignore lint/suspicious/noArrayIndexKey: items have no other key while they are typed
          key={i}
          id={id}
          field={itemField(field, shape, i)}
          draft={item}
          faults={faults}
          path={`${path}.${i}`}
          onChange={(d) => onChange(items.map((other, k) => (k === i ? d : other)))}
          onRemove={removable ? () => without(i) : null}
        />
      ))}
      <div className="flex flex-wrap items-center gap-2">
        <Button
          ref={add}
          look="quiet"
          aria-disabled={full}
          className="aria-disabled:cursor-not-allowed aria-disabled:opacity-50"
          onClick={() => !full && onChange([...items, ""])}
        >
          <PlusIcon />
          Add to {field.label}
        </Button>
        <span className="text-xs text-faint">{boundsOf(shape, full)}</span>
        {remove}
      </div>
      <Fault id={idAt(id, path)} text={faults[path]} alone />
    </fieldset>
  );
}

function boundsOf({ least, most }: ListShape, full: boolean): string {
  if (most === longestList)
    return full ? `A form has at most ${most}. Write JSON for more.` : least > 1 ? `At least ${least}.` : "";
  return least > 1 ? `${least} to ${most}.` : `At most ${most}.`;
}

/** An item of a list. A plain one stands in a line with the button that removes it. */
function Item({ onRemove, ...props }: At & { onRemove: (() => void) | null }) {
  const { id, field, draft, faults, onChange, path } = props;
  const { shape, label } = field;
  const at = idAt(id, path);
  if (shape.is === "object" || shape.is === "oneOf" || shape.is === "list") {
    const remove = onRemove && (
      <Button look="quiet" onClick={onRemove} aria-label={`Remove ${label}`}>
        <CloseIcon />
        Remove
      </Button>
    );
    return <SchemaForm {...props} remove={remove} />;
  }
  return (
    <div>
      <div className="flex items-center gap-2">
        {shape.is === "fixed" ? (
          <code className="flex-1 text-sm">{JSON.stringify(shape.value)}</code>
        ) : (
          <Control
            id={at}
            field={field}
            value={typeof draft === "string" ? draft : ""}
            fault={faults[path]}
            onChange={onChange}
            label={label}
          />
        )}
        {onRemove && (
          <IconButton label={`Remove ${label}`} onClick={onRemove}>
            <CloseIcon />
          </IconButton>
        )}
      </div>
      <Fault id={at} text={faults[path]} />
    </div>
  );
}

function PlainInput({ id, field, draft, faults, onChange, path }: At) {
  const at = idAt(id, path);
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
