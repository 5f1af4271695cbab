import { Backoff, type BackoffOptions, type Clock, systemClock } from "./backoff";
import { asError, type PerdureError } from "./errors";
import type { ImagePart, Part } from "./types";

/**
 * `pending`: shown at once and being sent. `acknowledged`: the server has it, and the log
 * will contain it. `refused`: the server will never accept it.
 */
export type PromptState = "pending" | "acknowledged" | "refused";

export interface Prompt {
  /** The signal's id. Repeated sends with this id are one message. */
  readonly id: string;
  readonly text: string;
  /** The images sent with the text. */
  readonly images: readonly ImagePart[];
  readonly state: PromptState;
  readonly error: PerdureError | null;
}

export interface PromptOptions extends BackoffOptions {
  /**
   * Sends one prompt. Resolves when the server has acknowledged it. Throws PerdureError.
   */
  send(prompt: Prompt, signal: AbortSignal): Promise<void>;
  clock?: Clock;
  /** Called after every change. */
  onChange?: () => void;
}

/**
 * Sends prompts one after the other. Each keeps its id until the server has acknowledged
 * it, so none is lost or duplicated, and their order is preserved.
 */
export class PromptQueue {
  readonly #options: PromptOptions;
  readonly #backoff: Backoff;
  readonly #stop = new AbortController();
  #prompts: readonly Prompt[] = [];
  #sending = false;
  readonly #seen = new Set<string>();

  constructor(options: PromptOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.clock ?? systemClock, options);
  }

  /** All prompts that the log does not contain yet, in order. */
  get prompts(): readonly Prompt[] {
    return this.#prompts;
  }

  /** Queues a prompt. If a prompt with this id is queued, nothing changes. */
  add(text: string, id: string = newId(), images: readonly ImagePart[] = []): Prompt {
    const known = this.#prompts.find((p) => p.id === id);
    if (known) return known;
    const prompt: Prompt = { id, text, images, state: "pending", error: null };
    if (this.#seen.has(id)) return { ...prompt, state: "acknowledged" };
    this.#change([...this.#prompts, prompt]);
    void this.#run();
    return prompt;
  }

  /**
   * Reports that the log contains the signal. The server has it, even if its reply was
   * lost.
   */
  seen(id: string): void {
    this.#seen.add(id);
    if (this.#prompts.some((p) => p.id === id)) this.#change(this.#prompts.filter((p) => p.id !== id));
  }

  /** Drops the acknowledged prompts. The log is read again and may begin after them. */
  forgetAcknowledged(): void {
    this.#change(this.#prompts.filter((p) => p.state !== "acknowledged"));
  }

  /** Drops a refused prompt. */
  dismiss(id: string): void {
    this.#change(this.#prompts.filter((p) => p.id !== id || p.state !== "refused"));
  }

  /** Stops sending. Pending prompts remain pending, because their outcome is unknown. */
  stop(): void {
    this.#stop.abort();
  }

  async #run(): Promise<void> {
    if (this.#sending) return;
    this.#sending = true;
    try {
      for (let next = this.#next(); next; next = this.#next()) await this.#deliver(next);
    } finally {
      this.#sending = false;
    }
  }

  #next(): Prompt | undefined {
    return this.#stop.signal.aborted ? undefined : this.#prompts.find((p) => p.state === "pending");
  }

  /** Sends a prompt until its outcome is known. */
  async #deliver(prompt: Prompt): Promise<void> {
    const { signal } = this.#stop;
    this.#backoff.worked();
    while (!signal.aborted && !this.#seen.has(prompt.id)) {
      try {
        await this.#options.send(prompt, signal);
        return this.#settle(prompt, "acknowledged", null);
      } catch (thrown) {
        if (signal.aborted) return;
        const error = asError(thrown);
        if (!error.retryable) return this.#settle(prompt, "refused", error);
        await this.#backoff.pause(signal, error.retryAfter);
      }
    }
  }

  #settle(prompt: Prompt, state: PromptState, error: PerdureError | null): void {
    this.#change(this.#prompts.map((p) => (p.id === prompt.id ? { ...p, state, error } : p)));
  }

  #change(prompts: readonly Prompt[]): void {
    this.#prompts = prompts;
    this.#options.onChange?.();
  }
}

/** Returns the content of a prompt as the parts of a message. */
export function partsOfPrompt(p: Pick<Prompt, "text" | "images">): Part[] {
  return [...(p.text ? [{ type: "text", text: p.text } as const] : []), ...p.images];
}

/** Returns the value of a prompt's signal. */
export function valueOfPrompt(p: Pick<Prompt, "text" | "images">): { text: string } | { parts: Part[] } {
  return p.images.length > 0 ? { parts: partsOfPrompt(p) } : { text: p.text };
}

function newId(): string {
  const random = crypto.getRandomValues(new Uint8Array(16)); // randomUUID requires a secure context
  return `prompt_${[...random].map((b) => b.toString(16).padStart(2, "0")).join("")}`;
}
