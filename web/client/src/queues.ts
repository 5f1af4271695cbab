import type { Query, Transport } from "./transport";
import type { List, Queue, QueuePause, Worker } from "./types";

export interface PageOptions {
  limit?: number;
  cursor?: string;
  signal?: AbortSignal;
}

/** The workers of the org. docs/workers.md describes them. */
export class Workers {
  readonly #t: Transport;

  constructor(transport: Transport) {
    this.#t = transport;
  }

  /** Lists the workers that were seen within the last hour, by id. */
  list(options: PageOptions = {}): Promise<List<Worker>> {
    const { signal, ...query } = options;
    return this.#t.json("GET", "/workers", { query: query as Query, signal });
  }
}

/** The queues of the org. docs/workers.md describes them. */
export class Queues {
  readonly #t: Transport;

  constructor(transport: Transport) {
    this.#t = transport;
  }

  /** Lists the queues, by name. */
  list(options: PageOptions = {}): Promise<List<Queue>> {
    const { signal, ...query } = options;
    return this.#t.json("GET", "/queues", { query: query as Query, signal });
  }

  /** Gives out no more work of a queue. What runs continues. For keys of the role admin. */
  pause(queue: string, signal?: AbortSignal): Promise<QueuePause> {
    return this.#t.json("POST", "/queues/pause", { body: { queue }, signal });
  }

  /** Gives out the work of a paused queue again. For keys of the role admin. */
  resume(queue: string, signal?: AbortSignal): Promise<void> {
    return this.#t.json("POST", "/queues/resume", { body: { queue }, signal });
  }
}
