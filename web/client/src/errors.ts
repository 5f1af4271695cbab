import type { FieldError, Problem, Question } from "./types";

/** The codes of errors. docs/api.md describes each. */
export type ErrorCode =
  | "invalid_argument"
  | "unauthenticated"
  | "permission_denied"
  | "not_found"
  | "already_exists"
  | "execution_ended"
  | "lease_lost"
  | "conflict"
  | "step_name_reused"
  | "question_decided"
  | "details_changed"
  | "already_voted"
  | "question_key_reused"
  | "payload_too_large"
  | "invalid_transcript"
  | "idempotency_key_reused"
  | "rate_limited"
  | "unavailable"
  | "internal"
  | "unsupported";

/**
 * An error that the server returns (problem+json), or `unavailable` if it was not reached.
 */
export class PerdureError extends Error {
  override readonly name = "PerdureError";
  readonly code: ErrorCode;
  /** The HTTP status; 0 if there was no response. */
  readonly status: number;
  /** The invalid fields, by their names in the request. */
  readonly fields: readonly FieldError[];
  /** With `question_decided`: the question with its decision. */
  readonly question: Question | null;
  /** The minimum delay in milliseconds that the server asks for before a retry. */
  readonly retryAfter: number;

  constructor(
    code: ErrorCode,
    message: string,
    more: {
      status?: number;
      fields?: FieldError[];
      retryAfter?: number;
      question?: Question;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: more.cause });
    this.code = code;
    this.status = more.status ?? 0;
    this.fields = more.fields ?? [];
    this.question = more.question ?? null;
    this.retryAfter = more.retryAfter ?? 0;
  }

  /**
   * Reports whether a retry may succeed. The outcome of a failed write request is unknown,
   * so it must be repeated with the same idempotency key or signal id.
   */
  get retryable(): boolean {
    return this.code === "unavailable" || this.code === "rate_limited" || this.code === "internal";
  }
}

/** Creates the error of a response that is not a success. */
export async function errorOf(answer: Response): Promise<PerdureError> {
  const seconds = Number(answer.headers.get("Retry-After") ?? 0);
  const retryAfter = seconds > 0 ? seconds * 1000 : 0;
  const text = await answer.text().catch(() => "");
  if (answer.headers.get("Content-Type")?.startsWith("application/problem+json")) {
    try {
      const p = JSON.parse(text) as Problem;
      return new PerdureError(p.code as ErrorCode, p.detail || p.title, {
        status: answer.status,
        fields: p.errors ?? [],
        ...(p.question ? { question: p.question } : {}),
        retryAfter,
      });
    } catch {
      // The JSON is incomplete: a proxy truncated it.
    }
  }
  return new PerdureError(
    codeOf(answer.status),
    `the server answers ${answer.status}: ${text.slice(0, 200)}`,
    {
      status: answer.status,
      retryAfter,
    },
  );
}

function codeOf(status: number): ErrorCode {
  switch (status) {
    case 401:
      return "unauthenticated";
    case 403:
      return "permission_denied";
    case 404:
      return "not_found";
    case 408:
    case 502:
    case 503:
    case 504:
      return "unavailable";
    case 409:
      return "conflict";
    case 413:
      return "payload_too_large";
    case 429:
      return "rate_limited";
    default:
      return status >= 500 ? "internal" : "invalid_argument";
  }
}

/** Converts any thrown value to an error of this client. An abort is returned unchanged. */
export function asError(thrown: unknown): PerdureError {
  if (thrown instanceof PerdureError) return thrown;
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return new PerdureError("unavailable", `no answer from the server: ${why}`, { cause: thrown });
}
