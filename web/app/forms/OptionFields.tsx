import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { queuesQuery } from "../api/queries";
import { Field, inputClass } from "../components/ui";
import type { OptionFaults, RunOptions } from "./options";

/** The fields for where and how a run is started. */
export function OptionFields({
  options,
  faults,
  onChange,
}: {
  options: RunOptions;
  faults: OptionFaults;
  onChange: (change: Partial<RunOptions>) => void;
}) {
  const queues = useQuery(queuesQuery());
  const known = useId();
  const unserved = queues.data?.items.find(
    (q) => q.name === (options.queue.trim() || "default") && !q.served,
  );
  return (
    <div className="grid gap-5 sm:grid-cols-2">
      <Field
        label="Queue"
        error={faults.queue}
        hint={
          unserved
            ? `No worker serves the queue ${unserved.name}. The run waits until one comes.`
            : "Empty: default."
        }
      >
        {(props) => (
          <>
            <input
              {...props}
              list={known}
              value={options.queue}
              onChange={(e) => onChange({ queue: e.target.value })}
              className={`${inputClass} font-mono`}
            />
            <datalist id={known}>
              {queues.data?.items.map((q) => (
                <option key={q.name} value={q.name}>
                  {q.served ? "" : "not served"}
                </option>
              ))}
            </datalist>
          </>
        )}
      </Field>
      <Field
        label="Content"
        error={faults.persistenceMode}
        hint="A LOCAL run's prompts, messages and results never leave its worker."
      >
        {(props) => (
          <select
            {...props}
            value={options.persistenceMode}
            onChange={(e) => onChange({ persistenceMode: e.target.value as RunOptions["persistenceMode"] })}
            className={inputClass}
          >
            <option value="REMOTE">REMOTE: stored on the server</option>
            <option value="LOCAL">LOCAL: stored on its worker</option>
          </select>
        )}
      </Field>
      <Field
        label="Workspace"
        error={faults.workspace}
        hint="A folder below the worker's workspace; empty: the whole of it."
      >
        {(props) => (
          <input
            {...props}
            value={options.workspace}
            onChange={(e) => onChange({ workspace: e.target.value })}
            className={`${inputClass} font-mono`}
          />
        )}
      </Field>
      <Field label="Metadata" error={faults.metadata} hint="A JSON object, by which lists can be filtered.">
        {(props) => (
          <textarea
            {...props}
            rows={1}
            value={options.metadata}
            onChange={(e) => onChange({ metadata: e.target.value })}
            placeholder='{"ticket": "A-17"}'
            className={`${inputClass} resize-y font-mono`}
          />
        )}
      </Field>
    </div>
  );
}
