import type { Transport } from "./transport";
import type { ModelCall } from "./types";

/** Model calls of executions, as the server rebuilds them. docs/api.md describes them. */
export class ModelCalls {
  readonly #t: Transport;

  constructor(transport: Transport) {
    this.#t = transport;
  }

  /** Returns a model call with all messages. `call` is the id of the task that makes it. */
  async get(execution: string, call: string, signal?: AbortSignal): Promise<ModelCall> {
    const page = (cursor?: string) =>
      this.#t.json<ModelCall>("GET", pathOf(execution, call), {
        query: { limit: 1000, ...(cursor ? { cursor } : {}) },
        signal,
      });
    const whole = await page();
    for (let next = whole.nextCursor; next; ) {
      const more = await page(next);
      whole.messages.push(...more.messages);
      next = more.nextCursor;
    }
    return { ...whole, nextCursor: null };
  }

  /**
   * Returns the body of the request of a model call as a provider gets it, without the key. The
   * default is the provider of the call.
   */
  async request(execution: string, call: string, provider?: string, signal?: AbortSignal): Promise<unknown> {
    return this.#t.json("GET", `${pathOf(execution, call)}/request`, {
      query: provider ? { as: provider } : {},
      signal,
    });
  }
}

const pathOf = (execution: string, call: string) =>
  `/agent-executions/${encodeURIComponent(execution)}/calls/${encodeURIComponent(call)}`;
