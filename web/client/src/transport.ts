import { asError, errorOf, PerdureError } from "./errors";

export interface TransportOptions {
  /** The server's URL, such as `http://127.0.0.1:8080`. Default: the page's own origin. */
  baseUrl?: string;
  /** Default `default`, the org of dev mode. */
  org?: string;
  /**
   * The API key, sent as a bearer token. Without a key, the browser's session is used
   * (`login`).
   */
  key?: string;
  /**
   * Returns the page's half of a session, for a page that keeps it across reloads. It is
   * called before each request. Default: the half that this client's `login` returned.
   */
  session?: () => string | undefined;
  /** Default: the platform's fetch. */
  fetch?: typeof fetch;
}

export type Query = Record<string, string | number | boolean | readonly string[] | undefined>;

export interface Request {
  query?: Query | undefined;
  headers?: Record<string, string> | undefined;
  body?: unknown;
  /** The body as JSON text, in place of body. */
  text?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Sends requests to one org of one server. */
export class Transport {
  readonly base: string;
  readonly org: string;
  /** The page's half of the session that `login` began. */
  half: string | undefined;
  readonly #key: string | undefined;
  readonly #session: () => string | undefined;
  readonly #fetch: typeof fetch;

  constructor(o: TransportOptions) {
    const here = (globalThis as { location?: { origin?: string } }).location?.origin;
    const base = o.baseUrl ?? here;
    if (!base) throw new PerdureError("invalid_argument", "baseUrl is needed outside of a browser");
    this.base = base.replace(/\/+$/, "");
    this.org = o.org ?? "default";
    this.#key = o.key;
    this.#session = o.session ?? (() => this.half);
    this.#fetch = o.fetch ?? ((input, init) => fetch(input, init));
  }

  /** Returns the headers that authenticate the caller. */
  credentials(): Record<string, string> {
    if (this.#key) return { Authorization: `Bearer ${this.#key}` };
    const half = this.#session();
    return half ? { "Perdure-Session": half } : {};
  }

  /**
   * Returns the subprotocols of a WebSocket. A browser cannot add headers to a WebSocket,
   * so the page's half of the session is among the subprotocols. The server selects the
   * first one.
   */
  protocols(): string[] {
    const half = this.#key ? undefined : this.#session();
    return half ? ["perdure", `perdure.session.${half}`] : [];
  }

  /** Returns the URL of a path under the org. */
  url(path: string, query: Query = {}): string {
    const asked = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value === undefined) continue;
      for (const one of Array.isArray(value) ? value : [value]) asked.append(name, String(one));
    }
    const text = asked.toString();
    return `${this.base}/api/orgs/${encodeURIComponent(this.org)}${path}${text ? `?${text}` : ""}`;
  }

  /**
   * Sends a request and returns a successful response. Throws PerdureError, or the reason
   * of an abort.
   */
  async send(method: string, url: string, r: Request = {}): Promise<Response> {
    const headers: Record<string, string> = {
      Accept: "application/json",
      ...this.credentials(),
      ...r.headers,
    };
    const init: RequestInit = { method, headers, cache: "no-store", credentials: "same-origin" };
    const text = r.text ?? (r.body === undefined ? undefined : JSON.stringify(r.body));
    if (text !== undefined) {
      headers["Content-Type"] = "application/json";
      init.body = text;
    }
    if (r.signal) init.signal = r.signal;
    let answer: Response;
    try {
      answer = await this.#fetch(url, init);
    } catch (thrown) {
      if (r.signal?.aborted) throw thrown;
      throw asError(thrown);
    }
    if (!answer.ok) throw await errorOf(answer);
    return answer;
  }

  /** Sends a request and returns the JSON of the response; undefined if there is none. */
  async json<T>(method: string, path: string, r: Request = {}): Promise<T> {
    const answer = await this.send(method, this.url(path, r.query), r);
    if (answer.status === 204) return undefined as T;
    try {
      return (await answer.json()) as T;
    } catch (thrown) {
      if (r.signal?.aborted) throw thrown;
      throw asError(thrown);
    }
  }
}
