import type { ImagePart, Prompt } from "../../client/src/index";

/**
 * The prompts sent from this tab that are not acknowledged. They survive a reload, and are sent
 * again with the same id, so each becomes one message.
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
   * Saves the prompts whose outcome is unknown. A browser stores only a few megabytes. Larger
   * prompts, for example with images, are not saved and are lost with the page.
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
        // The storage is full. Try again without the largest prompt.
      }
    }
    this.#storage.removeItem(this.#key);
  }
}

function largest<T>(of: readonly T[]): T | undefined {
  return of.toSorted((a, b) => JSON.stringify(b).length - JSON.stringify(a).length)[0];
}
