import type { FieldError, Problem } from "./types";

/** The codes of errors; docs/api.md says what each means. */
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
  | "payload_too_large"
  | "invalid_transcript"
  | "idempotency_key_reused"
  | "rate_limited"
  | "unavailable"
  | "internal";

/** What the server refuses (problem+json), or that it could not be reached (`unavailable`). */
export class PerdureError extends Error {
  override readonly name = "PerdureError";
  readonly code: ErrorCode;
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number;
  /** The fields at fault, named as the request does. */
  readonly fields: readonly FieldError[];
  /** Milliseconds that the server asks to wait before another try. */
  readonly retryAfter: number;

  constructor(
    code: ErrorCode,
    message: string,
    more: { status?: number; fields?: FieldError[]; retryAfter?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause });
    this.code = code;
    this.status = more.status ?? 0;
    this.fields = more.fields ?? [];
    this.retryAfter = more.retryAfter ?? 0;
  }

  /**
   * Another try may succeed. For a request that writes the outcome of this one is
   * unknown: repeat it with the same idempotency key, or signal id.
   */
  get retryable(): boolean {
    return this.code === "unavailable" || this.code === "rate_limited" || this.code === "internal";
  }
}

/** Makes the error of an answer that is none of success. */
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
        retryAfter,
      });
    } catch {
      // something between here and the server has cut it
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

/** Whatever was thrown, as an error of this client. An abort stays what it is. */
export function asError(thrown: unknown): PerdureError {
  if (thrown instanceof PerdureError) return thrown;
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return new PerdureError("unavailable", `no answer from the server: ${why}`, { cause: thrown });
}
