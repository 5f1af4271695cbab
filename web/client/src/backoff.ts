/** Delays and their randomness. Tests supply their own. */
export interface Clock {
  /**
   * Resolves after the given number of milliseconds, or at once when the signal is aborted.
   */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Returns a number of at least 0 and less than 1. */
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
  /** Milliseconds before the first retry, doubled for each further one. Default 1,000. */
  first?: number;
  /** The maximum delay between two attempts in milliseconds. Default 30,000. */
  most?: number;
}

/**
 * The delays between attempts: 1 s × 2ⁿ, at most 30 s. A random part of up to half is
 * subtracted, so that clients that lost their connections together do not reconnect
 * together. A longer delay that the server asks for (Retry-After) takes precedence.
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

  /** Reports a success: the next delay is the first one again. */
  worked(): void {
    this.#tries = 0;
  }

  /** Returns the next delay in milliseconds. */
  next(retryAfter = 0): number {
    const whole = Math.min(this.#most, this.#first * 2 ** Math.min(this.#tries++, 30));
    const pause = whole / 2 + this.#clock.random() * (whole / 2);
    return Math.max(pause, retryAfter);
  }

  async pause(signal?: AbortSignal, retryAfter = 0): Promise<void> {
    await this.#clock.sleep(this.next(retryAfter), signal);
  }
}
