import type { ImagePart, Prompt } from "../../client/src/index";

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

  read(): { id: string; text: string; images: ImagePart[] }[] {
    try {
      const kept: unknown = JSON.parse(this.#storage.getItem(this.#key) ?? "[]");
      return Array.isArray(kept)
        ? kept
            .filter((p) => typeof p?.id === "string" && typeof p.text === "string")
            .map((p) => ({ id: p.id, text: p.text, images: Array.isArray(p.images) ? p.images : [] }))
        : [];
    } catch {
      return [];
    }
  }

  /**
   * Keeps those whose outcome is not known. A browser keeps a few megabytes: what
   * is more than that, as images can be, is sent by this page or not at all.
   */
  write(prompts: readonly Prompt[]): void {
    const open = prompts
      .filter((p) => p.state === "pending")
      .map(({ id, text, images }) => (images.length > 0 ? { id, text, images } : { id, text }));
    for (let kept = open; kept.length > 0; kept = kept.filter((p) => p !== largest(kept))) {
      try {
        this.#storage.setItem(this.#key, JSON.stringify(kept));
        return;
      } catch {
        // It is full: without the largest of them it may do.
      }
    }
    this.#storage.removeItem(this.#key);
  }
}

function largest<T>(of: readonly T[]): T | undefined {
  return of.toSorted((a, b) => JSON.stringify(b).length - JSON.stringify(a).length)[0];
}
