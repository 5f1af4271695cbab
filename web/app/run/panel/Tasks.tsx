import { useQuery } from "@tanstack/react-query";
import type { Task } from "../../../client/src/index";
import { tasksQuery } from "../../api/queries";
import { ModelCall, modelCallKind } from "../../calls/ModelCall";
import { Empty, ErrorBanner, Spinner } from "../../components/ui";
import { taskName, taskWord } from "../../fold/timeline";
import { clock, duration, shortId } from "../../text/format";
import { Json, positionOf } from "./parts";
import type { PanelProps } from "./SidePanel";

const tones: Record<Task["status"], string> = {
  PENDING: "text-faint",
  RUNNING: "text-busy",
  COMPLETED: "text-good",
  FAILED: "text-bad",
  INTERRUPTED: "text-warn",
  CANCELLED: "text-faint",
};

/** Every model call, tool call and step, with its input and its result. */
export function Tasks({ id, state }: PanelProps) {
  const tasks = useQuery(tasksQuery(id, positionOf(state.view)));
  if (tasks.isError)
    return (
      <div className="p-4">
        <ErrorBanner error={tasks.error} what="The tasks cannot be read" retry={() => void tasks.refetch()} />
      </div>
    );
  if (!tasks.data)
    return (
      <div className="p-4">
        <Spinner />
      </div>
    );
  if (tasks.data.length === 0) return <Empty title="No tasks yet">Model calls and tools show here.</Empty>;
  return (
    <ul aria-label="Tasks" className="divide-y divide-line">
      {tasks.data.map((t) => (
        <li key={t.id}>
          <details className="group">
            <summary className="flex list-none items-center gap-3 px-4 py-2.5 text-sm hover:bg-sunken [&::-webkit-details-marker]:hidden">
              <span className="min-w-0 flex-1">
                <span className="block truncate font-mono text-[13px]">{taskName(t)}</span>
                <span className="text-xs text-faint">
                  {clock(t.createdAt)} · {shortId(t.id)}
                  {t.attempt > 1 && ` · try ${t.attempt} of ${t.maxAttempts}`}
                  {t.step && " · step"}
                </span>
              </span>
              <span className="text-right text-xs">
                <span className={`block font-medium ${tones[t.status]}`}>{taskWord(t.status)}</span>
                {t.startedAt && t.completedAt && (
                  <span className="text-faint tabular-nums">
                    {duration(Date.parse(t.completedAt) - Date.parse(t.startedAt))}
                  </span>
                )}
              </span>
            </summary>
            <div className="space-y-2 px-4 pb-3">
              {t.error && <p className="text-sm text-bad">{`${t.error.code}: ${t.error.message}`}</p>}
              {t.kind === modelCallKind && <ModelCall run={id} call={t.id} />}
              <Json label="Input" value={t.input} />
              {t.result !== null && t.result !== undefined && <Json label="Result" value={t.result} />}
            </div>
          </details>
        </li>
      ))}
    </ul>
  );
}
