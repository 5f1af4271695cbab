import { useQuery } from "@tanstack/react-query";
import type { Task } from "../../client/src/index";
import { CopyButton, ErrorBanner, Spinner } from "../components/ui";
import type { TaskPages } from "../fold/tasks";
import { type Item, type TaskLine, taskWord } from "../fold/timeline";
import { QuestionCard } from "../questions/QuestionCard";
import { Facts } from "../run/panel/parts";
import { dateTime } from "../text/format";
import { FoldedJson } from "./Json";

/** The details of an item of the timeline. */
export function ItemDetails({ item, run, pages }: { item: Item; run: string; pages: TaskPages }) {
  return (
    <div className="space-y-3 bg-sunken/40 px-4 pt-1 pb-4">
      {item.task && <TaskDetails run={run} line={item.task} pages={pages} />}
      {item.kind === "wait" && (
        <Facts
          of={[
            ["Waited for", item.label],
            ["Outcome", item.status],
            ["From", time(item.start)],
            ["To", item.end === null ? null : time(item.end)],
          ]}
        />
      )}
      {item.signal && (
        <>
          {item.signal.undeclared && (
            <p className="text-sm text-bad">
              {item.signal.undeclared} It is stored until the run waits for a signal of this name.
            </p>
          )}
          <Facts
            of={[
              ["Received", time(item.start)],
              ["Id", <Id key="id" of={item.signal.id} />],
            ]}
          />
          <FoldedJson titled label="Value" value={item.signal.value} />
        </>
      )}
      {item.question && <QuestionCard id={item.question} />}
    </div>
  );
}

const time = (at: number | string) => dateTime(new Date(at).toISOString());

function Id({ of }: { of: string }) {
  return (
    <span className="flex items-center gap-1 font-mono text-xs">
      {of}
      <CopyButton text={of} label="Copy the id" />
    </span>
  );
}

function TaskDetails({ run, line, pages }: { run: string; line: TaskLine; pages: TaskPages }) {
  const whole = useQuery({
    queryKey: ["run", run, "task", line.id, line.status],
    queryFn: () => pages.whole(line.id),
    enabled: line.large,
    gcTime: 10_000,
  });
  const task: Task | TaskLine = whole.data ?? line;
  const { error } = line;
  return (
    <>
      <Facts
        of={[
          ["Status", taskWord(line.status)],
          ["Instance", line.instance],
          ["Try", line.step ? null : `${line.attempt} of ${line.maxAttempts}`],
          ["Queue", line.step ? null : line.queue],
          ["Scheduled", time(line.createdAt)],
          ["Started", line.startedAt && time(line.startedAt)],
          ["Ended", line.completedAt && time(line.completedAt)],
          ["Worker", line.workerId],
          ["Id", <Id key="id" of={line.id} />],
          [
            "Error",
            error && (
              <span className="text-bad">
                {error.code}: {error.message}
              </span>
            ),
          ],
        ]}
      />
      {whole.isError && <ErrorBanner error={whole.error} what="The content cannot be read" />}
      {line.large && whole.isPending ? (
        <Spinner label="Reading the content" />
      ) : (
        <>
          {!line.step && <FoldedJson titled label="Input" value={task.input} bytes={task.inputBytes} />}
          {(task.status === "COMPLETED" || task.result) && (
            <FoldedJson titled label="Result" value={task.result} bytes={task.resultBytes} />
          )}
          {task.progress !== undefined && <FoldedJson titled label="Progress" value={task.progress} />}
        </>
      )}
    </>
  );
}
