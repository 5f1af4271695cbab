import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useEffect, useId, useState } from "react";
import { type AnswerBody, PerdureError, type Question, type Remember } from "../../client/src/index";
import { api, mayBeAdmin, useAccess } from "../api/client";
import { questionQuery } from "../api/queries";
import { Ago } from "../components/Ago";
import { JSONCode } from "../components/Code";
import { Button, ErrorBanner, inputClass, inputLook, Skeleton } from "../components/ui";
import { faultsAt } from "../schema/faults";
import { useValue, ValueFields } from "../schema/ValueFields";
import { visible } from "../text/visible";
import {
  choicesOf,
  detailsText,
  grantable,
  headingOf,
  isJSON,
  onWorker,
  parseAnswer,
  rememberChoices,
  statusText,
} from "./question";

/** A question with what is asked about, and the controls to answer it. */
export function QuestionCard({ id, withRun = false }: { id: string; withRun?: boolean }) {
  const { data: question, error, refetch } = useQuery(questionQuery(id));
  const seesRuns = useAccess().role !== "approver";
  if (error) {
    return <ErrorBanner error={error} what="This question cannot be shown" retry={() => void refetch()} />;
  }
  if (!question) return <Skeleton rows={2} />;
  return (
    <article
      aria-label={headingOf(question)}
      data-question={question.status}
      className="overflow-hidden rounded-xl border border-warn bg-surface"
    >
      <header className="flex flex-wrap items-baseline gap-x-3 gap-y-1 bg-warn-soft px-4 py-2.5">
        <h2 className="font-medium">{headingOf(question)}</h2>
        <span className="text-xs text-soft">
          <Ago at={question.createdAt} />
          {question.expiresAt && (
            <>
              {" · expires "}
              <time dateTime={question.expiresAt}>{new Date(question.expiresAt).toLocaleString()}</time>
            </>
          )}
        </span>
        {withRun && !seesRuns && (
          <span className="ml-auto truncate text-sm text-soft">
            {visible(question.agentExecutionTitle ?? "")}
          </span>
        )}
        {withRun && seesRuns && (
          <Link
            to="/ai/runs/$runId"
            params={{ runId: question.agentExecutionId }}
            search={{}}
            className="ml-auto truncate text-sm text-accent-strong underline underline-offset-2"
          >
            {visible(question.agentExecutionTitle ?? "") || "Open the run"}
          </Link>
        )}
      </header>
      <div className="space-y-3 px-4 py-3">
        {question.prompt && <p className="whitespace-pre-wrap">{visible(question.prompt)}</p>}
        {onWorker(question) && (
          <p role="note" id={`away-${question.id}`} className="text-sm text-soft">
            The content of this question is on the worker of its LOCAL run, which is away. Until the worker is
            back, the question can only be denied.
          </p>
        )}
        <Details question={question} />
        {question.status === "open" ? (
          <Controls question={question} />
        ) : (
          <p role="status" className="text-sm text-soft">
            {statusText(question)}
          </p>
        )}
      </div>
    </article>
  );
}

function Details({ question }: { question: Question }) {
  const text = detailsText(question);
  if (text === null) return null;
  return (
    <div
      role="group"
      aria-label="What is asked about"
      tabIndex={0}
      className="max-h-72 overflow-auto rounded-lg bg-sunken px-3 py-2"
    >
      <pre className="font-mono text-xs whitespace-pre-wrap">
        {isJSON(question) ? <JSONCode text={text} /> : text}
      </pre>
    </div>
  );
}

function Controls({ question }: { question: Question }) {
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const answer = useMutation({
    mutationFn: (body: AnswerBody) => api().questions.answer(question.id, body),
    onSettled: () => client.invalidateQueries({ queryKey: ["questions"] }),
  });
  const [editing, setEditing] = useState(false);
  const remember = rememberChoices(question, mayBeAdmin(useAccess().role));
  const [remembered, setRemembered] = useState(0);
  const send = (body: Pick<AnswerBody, "verdict" | "answer" | "details" | "remember">) =>
    answer.mutate({
      ...body,
      detailsSha256: question.detailsSha256,
      ...(reason.trim() ? { reason: reason.trim() } : {}),
    });
  const approve = (asked: Remember | null) =>
    send(asked ? { verdict: "approve", remember: asked } : { verdict: "approve" });
  const choices = choicesOf(question);
  const shown = !onWorker(question);
  const busy = answer.isPending;
  return (
    <div className="space-y-3">
      {choices.length > 0 && (
        <div className="flex flex-wrap gap-2">
          {choices.map((c) => (
            <Button
              key={c.value}
              disabled={busy}
              title={c.description}
              onClick={() => send({ verdict: "answer", answer: c.value })}
            >
              {visible(c.label || c.value)}
            </Button>
          ))}
        </div>
      )}
      {question.schema !== undefined && (
        <ValueForm
          question={question}
          busy={busy}
          error={answer.error}
          onSend={(value) => send({ verdict: "answer", answer: value })}
        />
      )}
      {editing && (
        <EditForm
          key={question.version}
          question={question}
          busy={busy}
          onSend={(details) => send({ verdict: "approve", details })}
          onCancel={() => setEditing(false)}
        />
      )}
      <div className="flex flex-wrap items-center gap-2">
        {!shown && (
          <Button look="primary" disabled aria-describedby={`away-${question.id}`}>
            {question.kind === "approval" ? "Approve" : "Answer"}
          </Button>
        )}
        {shown && choices.length === 0 && question.schema === undefined && (
          <Button look="primary" disabled={busy} onClick={() => approve(remember[remembered]?.[1] ?? null)}>
            Approve
          </Button>
        )}
        {shown && grantable(question) && (
          <select
            aria-label="Remember the approval"
            value={remembered}
            onChange={(e) => setRemembered(Number(e.target.value))}
            className={`${inputLook} max-w-full`}
          >
            {remember.map(([name], i) => (
              <option key={name} value={i}>
                {name}
              </option>
            ))}
          </select>
        )}
        {shown && question.edit && !editing && (
          <Button disabled={busy} onClick={() => setEditing(true)}>
            Edit…
          </Button>
        )}
        <Button look="danger" disabled={busy} onClick={() => send({ verdict: "deny" })}>
          Deny
        </Button>
        <input
          aria-label="Reason"
          placeholder="Reason (optional)"
          maxLength={4096}
          value={reason}
          onChange={(e) => setReason(e.target.value)}
          className={`${inputClass} min-w-40 flex-1`}
        />
      </div>
      {(question.needed ?? 1) > 1 && (
        <p className="text-xs text-faint">
          {question.votes?.length ?? 0} of {question.needed} people have answered.
        </p>
      )}
      {answer.error && <ErrorBanner error={answer.error} what="The answer was not taken" />}
    </div>
  );
}

/** A form for the details of an approval, as the exact text that will be approved. */
function EditForm({
  question,
  busy,
  onSend,
  onCancel,
}: {
  question: Question;
  busy: boolean;
  onSend: (details: string) => void;
  onCancel: () => void;
}) {
  const [text, setText] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    api()
      .questions.details(question.id, stop.signal)
      .then((details) => setText(visible(details)))
      .catch((e: unknown) => {
        if (!stop.signal.aborted) setProblem(String(e));
      });
    return () => stop.abort();
  }, [question.id]);
  const submit = (e: FormEvent) => {
    e.preventDefault();
    const { problem } = parseAnswer(text ?? "", undefined);
    setProblem(problem);
    if (problem === null && text !== null) onSend(text);
  };
  const id = `edit-${question.id}`;
  return (
    <form onSubmit={submit} className="space-y-2">
      <label htmlFor={id} className="text-sm font-medium">
        Approve this instead
      </label>
      <textarea
        id={id}
        rows={4}
        value={text ?? ""}
        disabled={text === null}
        aria-invalid={problem !== null}
        onChange={(e) => setText(e.target.value)}
        className={`${inputClass} font-mono text-sm`}
      />
      {problem && (
        <p role="alert" className="text-sm text-bad">
          {problem}
        </p>
      )}
      <div className="flex gap-2">
        <Button look="primary" type="submit" disabled={busy || text === null}>
          Approve the edit
        </Button>
        <Button disabled={busy} onClick={onCancel}>
          Keep it as it is
        </Button>
      </div>
    </form>
  );
}

/** A form for a value that fits the schema of the question. The server checks it, too. */
function ValueForm({
  question,
  busy,
  error,
  onSend,
}: {
  question: Question;
  busy: boolean;
  error: Error | null;
  onSend: (value: unknown) => void;
}) {
  const value = useValue(question.schema, "Answer");
  const { change } = value;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new error, not a new form, shows faults
  useEffect(() => {
    if (!(error instanceof PerdureError)) return;
    change({ faults: faultsAt(error.fields, "answer", "Answer") });
  }, [error]);
  const submit = (e: FormEvent) => {
    e.preventDefault();
    const read = value.take();
    if (read) onSend(read.value);
  };
  return (
    <form onSubmit={submit} className="space-y-3" noValidate>
      <ValueFields id={useId()} value={value}>
        <Button look="primary" type="submit" disabled={busy}>
          Answer
        </Button>
      </ValueFields>
    </form>
  );
}
