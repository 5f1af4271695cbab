/** Sleeps, and the chance in them; tests give their own. */
export interface Clock {
  /** Resolves after so many milliseconds, or at once when the signal is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** From 0 up to, not including, 1. */
  random(): number;
}

export const systemClock: Clock = {
  sleep(milliseconds, signal) {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, milliseconds);
      signal?.addEventListener("abort", done);
    });
  },
  random: Math.random,
};

export interface BackoffOptions {
  /** Milliseconds before the first retry; doubled for each further one. Default 1,000. */
  first?: number;
  /** The most milliseconds between two tries. Default 30,000. */
  most?: number;
}

/**
 * The pauses between tries: 1 s × 2ⁿ, at most 30 s, of which a random part of up
 * to a half is left off, so that clients that were cut off together do not come
 * back together. An answer that says to wait longer (Retry-After) is heeded.
 */
export class Backoff {
  #tries = 0;
  readonly #first: number;
  readonly #most: number;
  readonly #clock: Clock;

  constructor(clock: Clock = systemClock, options: BackoffOptions = {}) {
    this.#clock = clock;
    this.#first = options.first ?? 1000;
    this.#most = options.most ?? 30_000;
  }

  /** What was tried has worked: the next pause is the first again. */
  worked(): void {
    this.#tries = 0;
  }

  /** The next pause in milliseconds. */
  next(retryAfter = 0): number {
    const whole = Math.min(this.#most, this.#first * 2 ** Math.min(this.#tries++, 30));
    const pause = whole / 2 + this.#clock.random() * (whole / 2);
    return Math.max(pause, retryAfter);
  }

  async pause(signal?: AbortSignal, retryAfter = 0): Promise<void> {
    await this.#clock.sleep(this.next(retryAfter), signal);
  }
}
