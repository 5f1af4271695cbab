/** Items one after the other, given out as a list that stays as it is. */
export class Listed<T> {
  readonly #items: T[] = [];
  #given: T[] | null = null;

  push(item: T): void {
    this.#items.push(item);
    this.#given = null;
  }

  removeFirst(fits: (item: T) => boolean): void {
    const i = this.#items.findIndex(fits);
    if (i < 0) return;
    this.#items.splice(i, 1);
    this.#given = null;
  }

  list(): T[] {
    this.#given ??= [...this.#items];
    return this.#given;
  }
}
