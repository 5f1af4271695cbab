import type { List, Task } from "../../client/src/index";
import { type TaskLine, taskLine } from "./timeline";

const pageOfTasks = 500;
/** The maximum number of tasks that are read until the reader asks for more. */
const atFirst = 10_000;

interface Page {
  cursor: string | undefined;
  tasks: TaskLine[];
  next: string | null;
  /** It is full, and all of its tasks have ended: it never changes. */
  final: boolean;
}

export interface TasksState {
  tasks: readonly TaskLine[];
  /** Nothing was read yet. */
  pending: boolean;
  /** There are more tasks than were read. */
  more: boolean;
  error: Error | null;
}

type ReadPage = (cursor: string | undefined, limit: number) => Promise<List<Task>>;

const isEnded = (t: TaskLine) => t.status !== "PENDING" && t.status !== "RUNNING";

/**
 * The tasks and steps of a run, oldest first. A reading asks only for the pages that can have
 * changed. Large content is left out.
 */
export class TaskPages {
  readonly #read: ReadPage;
  /** The minimum time between two readings, in milliseconds. */
  readonly #pause: number;
  readonly #pages: Page[] = [];
  readonly #listeners = new Set<() => void>();
  #most = atFirst;
  #state: TasksState = { tasks: [], pending: true, more: false, error: null };
  #reading = false;
  #again = false;

  constructor(read: ReadPage, pause = 700) {
    this.#read = read;
    this.#pause = pause;
  }

  get state(): TasksState {
    return this.#state;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Reads what can have changed. Calls during a reading, and shortly after it, cause one more. */
  refresh(): void {
    this.#again = true;
    if (!this.#reading) void this.#readAll();
  }

  readMore(): void {
    this.#most += atFirst;
    this.refresh();
  }

  async #readAll(): Promise<void> {
    this.#reading = true;
    while (this.#again) {
      this.#again = false;
      try {
        await this.#round();
      } catch (thrown) {
        this.#show(thrown as Error);
      }
      await new Promise((resolve) => setTimeout(resolve, this.#pause));
    }
    this.#reading = false;
  }

  async #round(): Promise<void> {
    for (let i = 0; ; i++) {
      const before = this.#pages[i];
      const cursor = i === 0 ? undefined : this.#pages[i - 1]?.next;
      if (cursor === null || (!before && i * pageOfTasks >= this.#most)) return;
      if (before?.final) continue;
      const { items, nextCursor: next } = await this.#read(cursor, pageOfTasks);
      const tasks = items.map(taskLine);
      this.#pages[i] = { cursor, tasks, next, final: next !== null && tasks.every(isEnded) };
      this.#show(null);
    }
  }

  #show(error: Error | null): void {
    this.#state = {
      tasks: this.#pages.flatMap((p) => p.tasks),
      pending: this.#pages.length === 0,
      more: this.#pages.length * pageOfTasks >= this.#most && this.#pages.at(-1)?.next !== null,
      error,
    };
    for (const listener of [...this.#listeners]) listener();
  }

  /** Reads a task with its content. */
  async whole(id: string): Promise<Task> {
    const page = this.#pages.find((p) => p.tasks.some((t) => t.id === id));
    const { items } = await this.#read(page?.cursor, pageOfTasks);
    const task = items.find((t) => t.id === id);
    if (!task) throw new Error("The task is not there any more.");
    return task;
  }
}
