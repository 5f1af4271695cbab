import type { Transport } from "./transport";
import type { BulkAction, BulkCount, BulkFilter } from "./types";

export interface BulkRequest {
  action: BulkAction["action"];
  /** The filters of a list of executions; {} for all. */
  filter: BulkFilter;
  /** Shown with the bulk action. */
  reason?: string;
}

/** Bulk actions on executions. docs/api.md describes them. */
export class BulkActions {
  readonly #t: Transport;

  constructor(transport: Transport) {
    this.#t = transport;
  }

  /** Counts the executions that a bulk action would have now. Changes nothing. */
  count({ action, filter }: BulkRequest, signal?: AbortSignal): Promise<BulkCount> {
    return this.#t.json("POST", `${path}/count`, { body: { action, filter }, signal });
  }

  /**
   * Begins a bulk action, which the server does in the background. A repeated idempotency key returns
   * the same action.
   */
  start(
    body: BulkRequest,
    options: { idempotencyKey?: string; signal?: AbortSignal } = {},
  ): Promise<BulkAction> {
    const { idempotencyKey: key, signal } = options;
    return this.#t.json("POST", path, {
      body,
      headers: key ? { "Idempotency-Key": key } : undefined,
      signal,
    });
  }

  /** Returns a bulk action with its progress. */
  get(id: string, signal?: AbortSignal): Promise<BulkAction> {
    return this.#t.json("GET", `${path}/${encodeURIComponent(id)}`, { signal });
  }
}

const path = "/agent-executions/actions";
