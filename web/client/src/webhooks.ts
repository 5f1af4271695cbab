import type { Query, Transport } from "./transport";
import type { Delivery, List, NewWebhook, Webhook, WebhookBody } from "./types";

export interface DeliveryFilter {
  status?: Delivery["status"] | Delivery["status"][];
  limit?: number;
  cursor?: string;
  signal?: AbortSignal;
}

/** The webhooks of the org, for keys of the role admin. docs/webhooks.md describes them. */
export class Webhooks {
  readonly #t: Transport;

  constructor(transport: Transport) {
    this.#t = transport;
  }

  list(signal?: AbortSignal): Promise<List<Webhook>> {
    return this.#t.json("GET", "/webhooks", { signal });
  }

  get(id: string, signal?: AbortSignal): Promise<Webhook> {
    return this.#t.json("GET", of(id), { signal });
  }

  /** Makes a webhook. The secret that signs its deliveries is returned this once. */
  create(body: WebhookBody, signal?: AbortSignal): Promise<NewWebhook> {
    return this.#t.json("POST", "/webhooks", { body, signal });
  }

  /** Replaces the settings. With `version`, only that version is replaced. */
  replace(
    id: string,
    body: WebhookBody,
    options: { version?: number; signal?: AbortSignal } = {},
  ): Promise<Webhook> {
    const headers: Record<string, string> =
      options.version === undefined ? {} : { "If-Match": `"${options.version}"` };
    return this.#t.json("PUT", of(id), { body, headers, signal: options.signal });
  }

  /** Deletes a webhook and its deliveries. */
  delete(id: string, signal?: AbortSignal): Promise<void> {
    return this.#t.json("DELETE", of(id), { signal });
  }

  /**
   * Makes a new secret; the old one signs for another 24 hours. With `dropOld` no secret is made, and
   * the old one signs no longer.
   */
  rotate(id: string, options: { dropOld?: boolean; signal?: AbortSignal } = {}): Promise<NewWebhook> {
    const { signal, ...body } = options;
    return this.#t.json("POST", `${of(id)}/rotate`, { body, signal });
  }

  /** Sends an event `webhook.test`. */
  test(id: string, signal?: AbortSignal): Promise<Delivery> {
    return this.#t.json("POST", `${of(id)}/test`, { signal });
  }

  /** Returns a page of deliveries, newest first, without payloads. */
  deliveries(id: string, filter: DeliveryFilter = {}): Promise<List<Delivery>> {
    const { signal, ...query } = filter;
    return this.#t.json("GET", `${of(id)}/deliveries`, { query: query as Query, signal });
  }

  /** Returns a delivery with its payload. */
  delivery(id: string, deliveryId: string, signal?: AbortSignal): Promise<Delivery> {
    return this.#t.json("GET", `${of(id)}/deliveries/${encodeURIComponent(deliveryId)}`, { signal });
  }

  /** Sends a delivery again, with all its attempts. */
  resend(id: string, deliveryId: string, signal?: AbortSignal): Promise<Delivery> {
    return this.#t.json("POST", `${of(id)}/deliveries/${encodeURIComponent(deliveryId)}/resend`, { signal });
  }
}

const of = (id: string) => `/webhooks/${encodeURIComponent(id)}`;
