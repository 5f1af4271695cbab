import type { Prompt } from "../../client/src/index";

/**
 * What was sent from this tab and is not acknowledged: kept over a reload, and
 * sent again with the same id, so that it becomes one message.
 */
export class Outbox {
  readonly #key: string;
  readonly #storage: Pick<Storage, "getItem" | "setItem" | "removeItem">;

  constructor(org: string, run: string, storage: Outbox["storage"] = sessionStorage) {
    this.#key = `perdure.outbox.${org}.${run}`;
    this.#storage = storage;
  }

  get storage() {
    return this.#storage;
  }

  read(): { id: string; text: string }[] {
    try {
      const kept: unknown = JSON.parse(this.#storage.getItem(this.#key) ?? "[]");
      return Array.isArray(kept)
        ? kept.filter((p) => typeof p?.id === "string" && typeof p.text === "string")
        : [];
    } catch {
      return [];
    }
  }

  /** Keeps those whose outcome is not known. */
  write(prompts: readonly Prompt[]): void {
    const open = prompts.filter((p) => p.state === "pending").map(({ id, text }) => ({ id, text }));
    if (open.length === 0) this.#storage.removeItem(this.#key);
    else this.#storage.setItem(this.#key, JSON.stringify(open));
  }
}
