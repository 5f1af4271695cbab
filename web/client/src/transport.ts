import { asError, errorOf, PerdureError } from "./errors";

export interface TransportOptions {
  /** Where the server is, like `http://127.0.0.1:8080`. Default: the page's own origin. */
  baseUrl?: string;
  /** Default `default`, the org of dev mode. */
  org?: string;
  /** The API key, sent as bearer. Without it the browser's session counts (`login`). */
  key?: string;
  /**
   * Returns the page's half of a session, for a page that keeps it over a reload. Asked
   * before each request. Default: the half that `login` of this client was given.
   */
  session?: () => string | undefined;
  /** Default: the one of the platform. */
  fetch?: typeof fetch;
}

export type Query = Record<string, string | number | boolean | readonly string[] | undefined>;

export interface Request {
  query?: Query | undefined;
  headers?: Record<string, string> | undefined;
  body?: unknown;
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

  /** The headers that say who calls. */
  credentials(): Record<string, string> {
    if (this.#key) return { Authorization: `Bearer ${this.#key}` };
    const half = this.#session();
    return half ? { "Perdure-Session": half } : {};
  }

  /**
   * The subprotocols of a WebSocket. A browser adds no header to one, so the page's
   * half of the session is among them; the server selects the first.
   */
  protocols(): string[] {
    const half = this.#key ? undefined : this.#session();
    return half ? ["perdure", `perdure.session.${half}`] : [];
  }

  /** The URL of a path under the org. */
  url(path: string, query: Query = {}): string {
    const asked = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value === undefined) continue;
      for (const one of Array.isArray(value) ? value : [value]) asked.append(name, String(one));
    }
    const text = asked.toString();
    return `${this.base}/api/orgs/${encodeURIComponent(this.org)}${path}${text ? `?${text}` : ""}`;
  }

  /** Sends; gives the answer if it is one of success. Throws PerdureError, or what an abort throws. */
  async send(method: string, url: string, r: Request = {}): Promise<Response> {
    const headers: Record<string, string> = {
      Accept: "application/json",
      ...this.credentials(),
      ...r.headers,
    };
    const init: RequestInit = { method, headers, cache: "no-store", credentials: "same-origin" };
    if (r.body !== undefined) {
      headers["Content-Type"] = "application/json";
      init.body = JSON.stringify(r.body);
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

  /** Sends, and gives the answer's JSON; undefined if it has none. */
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
