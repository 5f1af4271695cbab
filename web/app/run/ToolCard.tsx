import { memo, type ReactNode, useMemo } from "react";
import type { Part, ToolCallView } from "../../client/src/index";
import { JSONCode } from "../components/Code";
import { DiffView } from "../components/DiffView";
import { ChevronIcon, EditIcon, FileIcon, SearchIcon, TerminalIcon, ToolIcon } from "../components/icons";
import { useNow } from "../components/now";
import { Terminal } from "../components/Terminal";
import { plainArgument } from "../fold/find";
import { type Diff, diffIn } from "../text/diff";
import { duration, firstLine } from "../text/format";
import { visible } from "../text/visible";
import { AbsentContent } from "./Absent";
import { useRun } from "./context";
import { unsearched } from "./marks";
import { useOpened } from "./opened";

const icons: Record<string, ReactNode> = {
  bash: <TerminalIcon />,
  "read-file": <FileIcon />,
  "write-file": <EditIcon />,
  "edit-file": <EditIcon />,
  grep: <SearchIcon />,
  find: <SearchIcon />,
};

/** Tools whose results are more useful to the model than to its user. */
const quiet = new Set(["read-file", "grep", "find"]);

/** A tool call: its arguments, its running output, and its result. */
export const ToolCard = memo(function ToolCard({ call }: { call: ToolCallView }) {
  const { running } = useRun();
  const atWork = running && call.result === null && !call.absent;
  const [open, setOpen] = useOpened(call.id, atWork || !quiet.has(call.name));
  const failed = call.result?.isError ?? false;
  return (
    <section
      aria-label={`Tool ${call.name}`}
      data-tool={call.name}
      data-state={atWork ? "running" : failed ? "failed" : call.result || call.absent ? "done" : "open"}
      className="overflow-hidden rounded-xl border border-line bg-surface"
    >
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex w-full items-center gap-2.5 px-3.5 py-2.5 text-left text-sm hover:bg-sunken focus-visible:-outline-offset-2"
      >
        <span className={atWork ? "text-busy" : failed ? "text-bad" : "text-faint"}>
          {icons[call.name] ?? <ToolIcon />}
        </span>
        <span className="font-medium">{call.name}</span>
        <span className="min-w-0 flex-1 truncate font-mono text-xs text-faint" {...(open ? unsearched : {})}>
          {summaryOf(call)}
        </span>
        <State call={call} atWork={atWork} failed={failed} />
        <ChevronIcon className={`size-3.5 text-faint transition-transform ${open ? "rotate-90" : ""}`} />
      </button>
      {open && <Body call={call} atWork={atWork} />}
    </section>
  );
});

function State({ call, atWork, failed }: { call: ToolCallView; atWork: boolean; failed: boolean }) {
  if (atWork) {
    return (
      <span className="flex items-center gap-1.5 text-xs text-busy" {...unsearched}>
        <span className="breathe size-1.5 rounded-full bg-current" aria-hidden="true" />
        {call.state === "writing" ? "Asking" : call.startedAt ? "Running" : "Waiting"}
        {call.startedAt && !call.endedAt && <Elapsed since={call.startedAt} />}
      </span>
    );
  }
  const took = call.startedAt && call.endedAt ? Date.parse(call.endedAt) - Date.parse(call.startedAt) : null;
  return (
    <span className={`text-xs whitespace-nowrap ${failed ? "text-bad" : "text-faint"}`} {...unsearched}>
      {failed && "Failed"}
      {failed && took !== null && " · "}
      {took !== null && <span className="tabular-nums">{duration(took)}</span>}
    </span>
  );
}

function Elapsed({ since }: { since: string }) {
  const ms = useNow() - Date.parse(since);
  return ms < 1_000 ? null : <span className="tabular-nums">{duration(Math.floor(ms / 1000) * 1000)}</span>;
}

function Body({ call, atWork }: { call: ToolCallView; atWork: boolean }) {
  const answer = useMemo(() => textOf(call.result?.parts ?? []), [call.result]);
  const diff = useMemo(() => (call.name === "bash" ? null : diffIn(answer)), [call.name, answer]);
  const output = call.terminal.map((t) => t.text).join("");
  return (
    <div className="space-y-3 border-t border-line px-3.5 py-3">
      {!diff && <Arguments call={call} />}
      {!call.result && output && <Terminal text={output} label={`Output of ${call.name}`} />}
      {!call.result && !output && atWork && call.startedAt && (
        <p className="text-xs text-faint">No output yet.</p>
      )}
      {call.result && <Answer call={call} text={answer} diff={diff} />}
      {call.absent && <AbsentContent absent={call.absent} what="result" heard={answer !== ""} />}
    </div>
  );
}

/** The arguments: a command or a file's content as it is, others as JSON, in colours once they are complete. */
function Arguments({ call }: { call: ToolCallView }) {
  const plain = plainArgument(call);
  if (call.name === "bash" && plain !== null) {
    return (
      <pre className="font-mono text-[12.5px] leading-relaxed [overflow-wrap:anywhere] whitespace-pre-wrap">
        <span className="text-faint select-none" aria-hidden="true">
          ${" "}
        </span>
        {visible(plain)}
      </pre>
    );
  }
  const json = call.arguments === undefined ? call.rawArguments : JSON.stringify(call.arguments, null, 2);
  const text = visible(plain ?? json ?? "");
  if (!text || text === "{}") return null;
  return (
    <pre
      tabIndex={0}
      role="group"
      aria-label="Arguments"
      className="max-h-60 overflow-auto rounded-lg bg-sunken px-3 py-2 font-mono text-[12.5px] leading-relaxed [overflow-wrap:anywhere] whitespace-pre-wrap"
    >
      {plain === null && call.arguments !== undefined ? <JSONCode text={text} /> : text}
    </pre>
  );
}

function Answer({ call, text, diff }: { call: ToolCallView; text: string; diff: Diff | null }) {
  const pictures = (call.result?.parts ?? []).filter((p) => p.type === "image" && "data" in p);
  return (
    <>
      {diff ? (
        <>
          {diff.lead && <p className="text-sm text-soft">{diff.lead}</p>}
          <DiffView diff={diff} label={`Change by ${call.name}`} />
        </>
      ) : (
        text && <Terminal text={text} label={`Result of ${call.name}`} />
      )}
      {pictures.map((p) => (
        <img
          key={p.data.slice(0, 64)}
          src={`data:${p.mimeType};base64,${p.data}`}
          alt={`Result of ${call.name}`}
          className="max-h-96 max-w-full rounded-lg border border-line"
        />
      ))}
    </>
  );
}

const textOf = (parts: Part[]) => parts.flatMap((p) => (p.type === "text" ? [p.text] : [])).join("\n");

/** Returns the most informative argument in one line. */
function summaryOf(call: ToolCallView): string {
  const args = call.arguments as Record<string, unknown> | undefined;
  if (!args || typeof args !== "object") return visible(firstLine(call.rawArguments, 120));
  for (const name of ["command", "path", "pattern", "query", "url"]) {
    if (typeof args[name] === "string") return visible(firstLine(args[name], 120));
  }
  return visible(firstLine(JSON.stringify(args), 120));
}
