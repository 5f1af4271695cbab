import { Backoff, type Clock } from "./backoff";
import { asError } from "./errors";
import { readEvents } from "./stream";
import type { Query, Transport } from "./transport";
import type { ApprovalGrant, List, NewQuestionLink, Question, QuestionLink, QuestionStatus } from "./types";

export interface QuestionFilter {
  status?: QuestionStatus | QuestionStatus[];
  kind?: string;
  /** What is asked about; of an approval, the tool. */
  subject?: string;
  agentExecutionId?: string;
  /** Only open questions that this key may answer now. */
  mine?: boolean;
  limit?: number;
  cursor?: string;
  signal?: AbortSignal;
}

/** The number of open questions of the org; `openMore` if there are more than that. */
export interface OpenQuestions {
  open: number;
  openMore?: boolean;
}

export interface AnswerBody {
  /** A repeat with the same id changes nothing. Default: a new id. */
  answerId?: string;
  verdict: "approve" | "deny" | "answer";
  /** That of the question as it was shown; `approve` needs it. */
  detailsSha256?: string;
  /** With the verdict `answer`. */
  answer?: unknown;
  /**
   * With the verdict `approve`: the JSON text of what is approved instead, if the question permits
   * edits. It is sent as it is, because the hash is of its bytes.
   */
  details?: string;
  reason?: string;
  /** With the verdict `approve`: later such calls run without a question. */
  remember?: Remember;
}

/** What an approval is remembered for. */
export interface Remember {
  /** `run`: this run. `definition`: all runs of its definition; only admin keys. */
  scope: "run" | "definition";
  /** `exact`: the same arguments, byte by byte. `tool`: every call of the tool. */
  match: "exact" | "tool";
  /** Default: 30 days from now. */
  until?: string;
}

export interface GrantFilter {
  agentExecutionId?: string;
  agentDefinitionId?: string;
  limit?: number;
  cursor?: string;
  signal?: AbortSignal;
}

/** An event of the stream of questions. It shows states, and not every change. */
export type QuestionEvent =
  /** The newest open questions. They replace everything that is known. */
  | { event: "questions"; data: { items: Question[] } & OpenQuestions }
  /** A question that is new or has changed. */
  | { event: "question"; data: Question };

/** The questions of runs to people. docs/questions.md describes them. */
export class Questions {
  readonly #t: Transport;

  constructor(transport: Transport) {
    this.#t = transport;
  }

  /** Returns a page of questions, newest first. Those about tool calls are without details. */
  list(filter: QuestionFilter = {}): Promise<List<Question> & OpenQuestions> {
    const { signal, ...query } = filter;
    return this.#t.json("GET", "/questions", { query: query as Query, signal });
  }

  /** Returns a question with its details as JSON. Over 256 KiB they are left out. */
  get(id: string, signal?: AbortSignal): Promise<Question> {
    return this.#t.json("GET", `/questions/${encodeURIComponent(id)}`, { signal });
  }

  /**
   * Returns the text of the details, which is exactly what the hash is of. JSON that is
   * parsed may differ from it, for example in large numbers.
   */
  async details(id: string, signal?: AbortSignal): Promise<string> {
    const url = this.#t.url(`/questions/${encodeURIComponent(id)}/details`);
    return (await this.#t.send("GET", url, { signal })).text();
  }

  /**
   * Answers a question. If it has been decided before, the error is `question_decided` and
   * has the question.
   */
  answer(id: string, body: AnswerBody, signal?: AbortSignal): Promise<Question> {
    if (body.details !== undefined) JSON.parse(body.details); // throws if it is not JSON
    const { details, ...rest } = { answerId: crypto.randomUUID(), ...body };
    const whole = JSON.stringify(rest);
    const text = details === undefined ? whole : `${whole.slice(0, -1)},"details":${details}}`;
    return this.#t.json("POST", `/questions/${encodeURIComponent(id)}/answer`, { text, signal });
  }

  /**
   * Makes a link with which a key answers the question without signing in. Its address is returned
   * this once. `expires` is a duration such as `24h`, which is the default; at most `168h`. For keys
   * of the role admin.
   */
  createLink(
    id: string,
    body: { keyId: string; expires?: string },
    signal?: AbortSignal,
  ): Promise<NewQuestionLink> {
    return this.#t.json("POST", `/questions/${encodeURIComponent(id)}/links`, { body, signal });
  }

  /** Returns the links to a question, newest first, without their addresses. */
  links(id: string, signal?: AbortSignal): Promise<List<QuestionLink>> {
    return this.#t.json("GET", `/questions/${encodeURIComponent(id)}/links`, { signal });
  }

  /** Revokes the links of a key to a question, or all links. */
  revokeLinks(id: string, options: { keyId?: string; signal?: AbortSignal } = {}): Promise<void> {
    const { signal, ...query } = options;
    return this.#t.json("DELETE", `/questions/${encodeURIComponent(id)}/links`, { query, signal });
  }

  /** Returns a page of the approvals that are remembered, newest first. */
  grants(filter: GrantFilter = {}): Promise<List<ApprovalGrant>> {
    const { signal, ...query } = filter;
    return this.#t.json("GET", "/approval-grants", { query: query as Query, signal });
  }

  /** Revokes a grant: later questions are asked again. */
  revokeGrant(id: string, signal?: AbortSignal): Promise<void> {
    return this.#t.json("DELETE", `/approval-grants/${encodeURIComponent(id)}`, { signal });
  }

  /**
   * Yields the open questions, then each question that changes, and reconnects as often as
   * needed. After an interruption it yields the open questions again.
   */
  async *stream(
    options: { idle?: number; signal?: AbortSignal; clock?: Clock } = {},
  ): AsyncGenerator<QuestionEvent, void> {
    const signal = options.signal ?? new AbortController().signal;
    const backoff = new Backoff(options.clock);
    while (!signal.aborted) {
      try {
        for await (const e of readEvents(
          this.#t,
          this.#t.url("/questions/stream"),
          {},
          options.idle ?? 45_000,
          signal,
        )) {
          backoff.worked();
          if (e.event === "questions" || e.event === "question") {
            yield { event: e.event, data: JSON.parse(e.data) } as QuestionEvent;
          }
        }
      } catch (thrown) {
        const cut = asError(thrown);
        if (!cut.retryable) throw cut;
        await backoff.pause(signal, cut.retryAfter);
      }
    }
  }
}
