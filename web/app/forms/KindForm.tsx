import { type FormEvent, type ReactNode, useRef, useState } from "react";
import { type KindInfo, PerdureError } from "../../client/src/index";
import { Card, Chip } from "../components/ui";
import { faultsAt } from "../schema/faults";
import { useFaultFocus, useValue, ValueFields } from "../schema/ValueFields";
import { faultsFrom } from "./draft";
import { OptionFields } from "./OptionFields";
import { defaultOptions, type OptionFaults, readOptions } from "./options";
import { StartBar } from "./StartBar";
import { useStart } from "./useStart";

/** The form that starts a run of a kind with the input that the kind takes. */
export function KindForm({ kind, picker }: { kind: KindInfo; picker: ReactNode }) {
  const input = useValue(kind.inputSchema, "input");
  const [options, setOptions] = useState(defaultOptions);
  const [faults, setFaults] = useState<OptionFaults>({});
  const form = useRef<HTMLFormElement>(null);
  useFaultFocus(form, faults);
  const { start, waiting } = useStart({
    onError: (error) => {
      if (!(error instanceof PerdureError)) return;
      setFaults(faultsFrom(error) as OptionFaults);
      input.change({ faults: faultsAt(error.fields, "input", "input") });
    },
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    const given = readOptions(options);
    setFaults(given.faults);
    const read = input.take();
    if (!read || Object.keys(given.faults).length > 0) return;
    start.mutate({
      ...given.body,
      kind: kind.kind,
      ...(read.value === undefined ? {} : { input: read.value }),
    });
  };
  return (
    <form ref={form} onSubmit={submit} className="space-y-5" noValidate>
      <Card>
        <div className="space-y-5">
          {picker}
          {(kind.description || kind.tags) && (
            <div className="flex flex-wrap items-center gap-1.5 rounded-lg bg-sunken px-3 py-2.5 text-sm text-soft">
              {kind.description && <p className="mb-1 w-full">{kind.description}</p>}
              {kind.tags?.map((t) => (
                <Chip key={t}>{t}</Chip>
              ))}
            </div>
          )}
        </div>
      </Card>
      <Card title="Input">
        <ValueFields id="input" value={input} />
      </Card>
      <Card title="Run">
        <OptionFields
          options={options}
          faults={faults}
          onChange={(c) => setOptions((o) => ({ ...o, ...c }))}
        />
      </Card>
      <StartBar error={start.error} busy={start.isPending} waiting={waiting} />
    </form>
  );
}
