import { connect, createServer, type Server, type Socket } from "node:net";

/**
 * Returns a generator of pseudo-random numbers of at least 0 and less than 1 (mulberry32).
 * Equal seeds give equal sequences.
 */
export function randomFrom(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export interface Disturbance {
  random: () => number;
  /**
   * The maximum number of bytes from the server before a connection is cut, and the number of
   * cuts.
   */
  within: number;
  cuts: number;
  /** The maximum delay of received data in milliseconds. */
  delay: number;
}

/**
 * A TCP proxy that cuts connections in the middle of the server's data, and delays and splits it.
 * To repeat data, it sometimes replaces a request's Last-Event-ID by that of an earlier request.
 */
export class CuttingProxy {
  cuts = 0;
  repeats = 0;
  readonly #server: Server;
  readonly #target: number;
  readonly #how: Disturbance;
  readonly #sockets = new Set<Socket>();
  readonly #cursors: string[] = [];

  constructor(target: number, how: Disturbance) {
    this.#target = target;
    this.#how = how;
    this.#server = createServer((s) => this.#accept(s));
  }

  listen(): Promise<string> {
    return new Promise((resolve) => {
      this.#server.listen(0, "127.0.0.1", () => {
        resolve(`http://127.0.0.1:${(this.#server.address() as { port: number }).port}`);
      });
    });
  }

  close(): Promise<void> {
    for (const s of this.#sockets) s.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #accept(client: Socket): void {
    const server = connect(this.#target, "127.0.0.1");
    for (const [s, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(s);
      s.setNoDelay(true);
      s.on("error", () => undefined); // a close event follows
      s.on("close", () => {
        this.#sockets.delete(s);
        other.destroy();
      });
    }
    client.on("data", (d) => server.write(this.#again(d)));
    this.#down(server, client);
  }

  /** Sometimes replaces the requested cursor by an older one. */
  #again(request: Buffer): Buffer {
    const text = request.toString("latin1");
    const asked = /last-event-id: ([^\r\n]+)/i.exec(text)?.[1];
    if (asked === undefined) return request;
    this.#cursors.push(asked);
    const old = this.#cursors[Math.floor(this.#how.random() * this.#cursors.length)] ?? asked;
    if (old === asked || this.#how.random() < 0.5) return request;
    this.repeats++;
    return Buffer.from(text.replace(asked, old), "latin1");
  }

  /** Forwards the server's data up to the cut. */
  #down(server: Socket, client: Socket): void {
    const { random, within, delay } = this.#how;
    let left = this.cuts < this.#how.cuts ? Math.floor(random() * within) : Number.POSITIVE_INFINITY;
    let passed = Promise.resolve();
    server.on("data", (d) => {
      passed = passed.then(async () => {
        if (random() < 0.3) await new Promise((resolve) => setTimeout(resolve, random() * delay));
        const half = Math.floor(random() * d.length);
        for (const piece of [d.subarray(0, half), d.subarray(half)]) {
          if (piece.length > left) {
            client.write(piece.subarray(0, left), () => client.resetAndDestroy());
            this.cuts++;
            left = 0;
            server.destroy();
            return;
          }
          left -= piece.length;
          if (!client.destroyed) client.write(piece);
        }
      });
    });
    server.on("end", () => {
      passed = passed.then(() => {
        client.end();
      });
    });
  }
}
