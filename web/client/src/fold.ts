import type { Common, EventOf, LogEvent, Snapshot } from "./events";
import { hasSeq } from "./events";
import { Listed } from "./listed";
import type { HeldBlock, Message } from "./messages";
import type {
  CompactionRecord,
  Content,
  Entry,
  FilePart,
  ImageLinkPart,
  Part,
  Status,
  WaitReason,
} from "./types";
import {
  type Absent,
  absentOf,
  type CompactionView,
  contentOf,
  type ExecutionView,
  type MessageView,
  messageFrom,
  type PartView,
  partsOfUserMessage,
  phaseOf,
  placeOf,
  type ToolCallView,
  wakes,
} from "./view";

/** State that is known in addition to the messages. */
export interface Base {
  /** The state that the messages continue. */
  snapshot?: Snapshot | undefined;
  /** Without a snapshot: the status that the server sent when the connection began. */
  status?: Status | undefined;
  /** Fetched entries, by id, for entries whose events lack the content. */
  supplied?: ReadonlyMap<string, Entry> | undefined;
}

/**
 * Computes the view of messages. Equal messages result in an equal view, however they were
 * split when they arrived.
 */
export function foldView(messages: readonly Message[], base: Base = {}): ExecutionView {
  const fold = new ViewFold(base);
  for (const m of messages) fold.take(m);
  return fold.view();
}

/** A part that is not stored yet, and the attempt that emitted it. */
interface Live {
  part: PartView;
  task: string;
  attempt: number;
}

/** The part, arguments or terminal that a block's text belongs to. */
type Slot =
  | { in: Live; home: string }
  | { in: "arguments"; call: ToolCallView; before: string }
  | { in: "terminal"; call: ToolCallView; at: number };

/**
 * Computes the view incrementally. The cost of an update depends on the changes, not on the
 * length of the run.
 */
export class ViewFold {
  #status: Status | null;
  #reason: WaitReason | null;
  #wait: ExecutionView["wait"];
  #woken = false; // a signal that matches the wait arrived after the wait began
  #error: ExecutionView["error"] = null;
  #stopReason: string | null = null;
  #plan: unknown = null;
  readonly #entriesBefore: number;
  readonly #messages = new Map<string, MessageView>();
  readonly #live = new Map<string, Live[]>(); // by message
  readonly #calls = new Map<string, ToolCallView>();
  readonly #homes = new Map<string, string>(); // the message of a call
  readonly #slots = new Map<number, Slot>(); // by the block's seq
  readonly #made = new Map<string, MessageView>(); // as returned last; absent if changed since
  readonly #shownAt = new Map<string, number>(); // the index of a message in #all
  readonly #stale = new Set<string>(); // changed since #all was computed
  #all: MessageView[] | null = null; // displayed messages, as returned last; null: compute again
  #last = 0; // the newest seq processed
  readonly #supplied: ReadonlyMap<string, Entry>;
  #checkpoint: number;
  readonly #attempts = new Map<string, number>(); // newest, by task
  #compactions: CompactionView[] = []; // replaced when it changes
  #compacting = false;
  #stored: string | null = null; // the last stored message
  readonly #queued = new Listed<ExecutionView["queued"][number]>();
  readonly #files = new Listed<ExecutionView["files"][number]>();
  readonly #others = new Listed<ExecutionView["others"][number]>();

  constructor(base: Base = {}) {
    const x = base.snapshot?.execution;
    this.#supplied = base.supplied ?? new Map();
    this.#status = x?.status ?? base.status ?? null;
    this.#reason = x?.waitReason ?? null;
    this.#wait = x?.wait ?? null;
    this.#error = x?.error ? { message: x.error, code: x.errorCode ?? "" } : null;
    this.#checkpoint = x?.currentCheckpointSeq ?? 0;
    this.#entriesBefore = base.snapshot?.entriesBefore ?? 0;
    for (const e of base.snapshot?.entries ?? []) this.#entry(e);
  }

  /**
   * Processes a new message, or one that was processed before and has changed. Returns
   * false if the change cannot be made in place; the caller then computes the whole view
   * again.
   */
  take(m: Message): boolean {
    if (m.seq > this.#last) {
      this.#last = m.seq;
      if (m.kind === "block") this.#block(m);
      else this.#event(m.event);
      return true;
    }
    return m.kind === "block" && m.state !== "superseded" && this.#grown(m);
  }

  #block(b: HeldBlock): void {
    if (!this.#current(b.data) || b.state === "superseded") return;
    const open = b.state === "open";
    switch (b.type) {
      case "token":
      case "thinking": {
        if (b.withheld && b.text === "") break;
        const part = { type: b.type === "token" ? "text" : "thinking", text: b.text, open } as const;
        const said = this.#say(b.data, part);
        if (said) this.#slots.set(b.seq, { in: said, home: placeOf(b.data) });
        break;
      }
      case "data": {
        const call = typeof b.data.data === "object" ? this.#calls.get(b.data.data.tool_call.id) : undefined;
        if (call?.state !== "writing") break;
        this.#slots.set(b.seq, { in: "arguments", call, before: call.rawArguments });
        call.rawArguments += b.text;
        this.#touchCall(call);
        break;
      }
      case "terminal": {
        const call = this.#calls.get(b.data.toolCallId ?? "");
        if (!call) break;
        this.#slots.set(b.seq, { in: "terminal", call, at: call.terminal.length });
        call.terminal.push(terminalOf(b));
        this.#runs(call);
        this.#touchCall(call);
      }
    }
  }

  /** Updates a block that was processed before and now has more text or is closed. */
  #grown(b: HeldBlock): boolean {
    const slot = this.#slots.get(b.seq);
    if (!slot) return true; // its text is stored by now, or was never displayed
    if (slot.in === "terminal") {
      slot.call.terminal[slot.at] = terminalOf(b);
      this.#touchCall(slot.call);
    } else if (slot.in === "arguments") {
      if (slot.call.state !== "writing") return true;
      slot.call.rawArguments = slot.before + b.text;
      this.#touchCall(slot.call);
    } else {
      slot.in.part = { ...slot.in.part, text: b.text, open: b.state === "open" } as PartView;
      this.#touch(slot.home);
    }
    if (b.state !== "open") this.#slots.delete(b.seq);
    return true;
  }

  #event(e: LogEvent): void {
    if (!hasSeq(e) || !this.#current(e.data)) return;
    switch (e.event) {
      case "agent.waiting":
        this.#stands(e.data.status, e.data.reason, e.data.wait);
        this.#woken = false;
        break;
      case "agent.resumed":
      case "agent.started":
        this.#error = null;
        this.#stopReason = null;
        this.#stands(e.data.status);
        break;
      case "agent.created":
      case "agent.cancelling":
      case "agent.completed":
      case "agent.failed":
      case "agent.cancelled":
        this.#stands(e.data.status);
        if (typeof e.data.error === "string")
          this.#error = { message: e.data.error, code: String(e.data.code ?? "") };
        break;
      case "entry.appended":
        this.#entry(e.data);
        break;
      case "signal.received":
        this.#signal(e.data);
        break;
      case "data":
        this.#data(e);
        break;
      case "error":
        this.#error = { message: e.data.message, code: e.data.code };
        break;
      case "agent.checkpoint":
        this.#checkpoint = e.data.sequence;
        break;
      case "task.started":
      case "task.completed":
      case "task.failed":
      case "task.interrupted":
      case "task.cancelled":
        this.#times(e.event === "task.started", e.data);
    }
  }

  #times(begins: boolean, d: Common): void {
    const call = this.#calls.get(d.toolCallId ?? "");
    if (!call) return;
    if (begins) {
      call.startedAt = d.createdAt;
      this.#runs(call);
    }
    call.endedAt = begins ? null : d.createdAt;
    this.#touchCall(call);
  }

  view(): ExecutionView {
    const ended = phaseOf(this.#status, null) === "ended";
    const phase = this.#woken && this.#status === "WAITING" ? "queued" : phaseOf(this.#status, this.#reason);
    const input =
      ended || phase === "cancelling" || !this.#status ? null : phase === "your_turn" ? "follow_up" : "steer";
    return {
      status: this.#status,
      waitReason: this.#reason,
      wait: this.#wait,
      phase,
      running: phase === "queued" || phase === "working" || phase === "cancelling",
      inputEnabled: input !== null,
      input,
      ended,
      messages: this.#shown(),
      compactions: this.#compactions,
      compacting: this.#compacting && !ended,
      entriesBefore: this.#entriesBefore,
      queued: ended ? [] : this.#queued.list(),
      error: this.#error,
      stopReason: this.#stopReason,
      checkpoint: this.#checkpoint,
      plan: this.#plan,
      files: this.#files.list(),
      others: this.#others.list(),
    };
  }

  /** Returns all displayed messages. Unchanged messages are the same objects as before. */
  #shown(): MessageView[] {
    if (this.#all && this.#stale.size === 0) return this.#all;
    this.#all = this.#patched() ?? this.#anew();
    this.#stale.clear();
    return this.#all;
  }

  /**
   * Returns the list with its changed messages replaced, or null if a message was added or
   * removed.
   */
  #patched(): MessageView[] | null {
    if (!this.#all) return null;
    const all = [...this.#all];
    for (const id of this.#stale) {
      const at = this.#shownAt.get(id);
      const m = this.#messages.get(id);
      if (!m) continue; // the call's message is not loaded
      const made = this.#make(m);
      if ((at !== undefined) !== isShown(made)) return null;
      if (at !== undefined) all[at] = made;
    }
    return all;
  }

  #anew(): MessageView[] {
    const all: MessageView[] = [];
    this.#shownAt.clear();
    for (const m of this.#messages.values()) {
      const made = this.#make(m);
      if (!isShown(made)) continue;
      this.#shownAt.set(m.id, all.length);
      all.push(made);
    }
    return all;
  }

  #make(m: MessageView): MessageView {
    let made = this.#made.get(m.id);
    if (!made) {
      made = { ...m, parts: (this.#live.get(m.id)?.map((l) => l.part) ?? m.parts).map(asShown) };
      this.#made.set(m.id, made);
    }
    return made;
  }

  /** Marks a message as changed. */
  #touch(id: string): void {
    this.#made.delete(id);
    this.#stale.add(id);
  }

  #touchCall(call: ToolCallView): void {
    const home = this.#homes.get(call.id);
    if (home !== undefined) this.#touch(home);
  }

  #stands(status: Status, reason: WaitReason | null = null, wait: ExecutionView["wait"] = null): void {
    this.#status = status;
    this.#reason = reason;
    this.#wait = wait;
  }

  /**
   * Reports whether a record belongs to its task's newest attempt. When an attempt begins,
   * the output of earlier attempts is dropped.
   */
  #current(d: Common): boolean {
    const { taskExecutionId: task, attempt } = d;
    if (!task || !attempt) return true;
    const newest = this.#attempts.get(task) ?? 0;
    if (attempt > newest) {
      this.#attempts.set(task, attempt);
      if (newest > 0) this.#drop(task, attempt);
    }
    return attempt >= newest;
  }

  #drop(task: string, attempt: number): void {
    for (const [id, live] of this.#live) {
      const kept = live.filter((l) => l.task !== task || l.attempt >= attempt);
      for (const l of live) {
        if (l.part.type === "toolCall" && !kept.includes(l)) this.#calls.delete(l.part.id);
      }
      this.#live.set(id, kept);
      this.#touch(id);
    }
  }

  /** Returns the streamed parts of a message; null if its entry is stored. */
  #liveOf(d: Common): Live[] | null {
    const id = placeOf(d);
    const known = this.#messages.get(id);
    if (known?.stored && !known.absent) return null;
    if (!known) {
      this.#messages.set(id, {
        ...messageFrom({
          id,
          entryType: "message",
          parentId: null,
          content: { parts: [] },
          createdAt: d.createdAt,
        }),
        stored: false,
        turnId: d.turnId ?? null,
        responseId: d.responseId ?? null,
      });
    }
    const live = this.#live.get(id) ?? [];
    this.#live.set(id, live);
    return live;
  }

  #say(d: Common, part: PartView): Live | null {
    const live = this.#liveOf(d);
    if (!live) return null;
    const said = { part, task: d.taskExecutionId ?? "", attempt: d.attempt ?? 0 };
    live.push(said);
    this.#touch(placeOf(d));
    return said;
  }

  #runs(call: ToolCallView): void {
    if (call.state === "writing" || call.state === "waiting") call.state = "running";
  }

  #entry(told: Entry & { toolCallId?: string }): void {
    if (told.entryType === "llm_call" || this.#messages.get(told.id)?.stored) return;
    const e = absentOf(told) ? (this.#supplied.get(told.id) ?? told) : told;
    if (e.role === "tool_result") {
      this.#results(contentOf(e));
      this.#resultAbsent(told.toolCallId, absentOf(e));
      return;
    }
    if (e.entryType === "compaction") {
      this.#compacted(e);
      return;
    }
    const m = messageFrom(e);
    const content = contentOf(e);
    this.#stored = e.id;
    this.#messages.set(e.id, m);
    this.#touch(e.id);
    if (content) {
      m.parts = content.parts.flatMap((p) => this.#storedPart(e.id, p));
      this.#live.delete(e.id);
    }
    if (e.role === "user") this.#takeIn(content?.parts ?? []);
  }

  #compacted(e: Entry): void {
    if (this.#compactions.some((c) => c.id === e.id)) return;
    const summary = (contentOf(e)?.parts ?? []).map((p) => (p.type === "compaction" ? p.text : "")).join("");
    const record = (e.metadata ?? null) as CompactionRecord | null;
    const { id, createdAt } = e;
    const made = { id, after: this.#stored, summary, absent: absentOf(e), record, createdAt };
    this.#compactions = [...this.#compactions, made];
  }

  #storedPart(home: string, p: Part): PartView[] {
    switch (p.type) {
      case "text":
        return [{ type: "text", text: p.text, open: false }];
      case "thinking":
        return [{ type: "thinking", text: p.thinking ?? "", open: false }];
      case "image":
        if ("url" in p) return [{ type: "file", text: fileText(p) }];
        return [{ type: "image", data: p.data, mimeType: p.mimeType }];
      case "file":
        return [{ type: "file", text: fileText(p) }];
      case "toolCall": {
        const call = this.#call(home, p.id, p.name);
        call.rawArguments = p.rawArguments ?? "";
        if ("arguments" in p) call.arguments = p.arguments;
        if (call.state === "writing") call.state = "waiting";
        return [call];
      }
      default:
        return [];
    }
  }

  #call(home: string, id: string, name: string): ToolCallView {
    let call = this.#calls.get(id);
    if (!call) {
      // biome-ignore format: a list of default values
      call = { type: "toolCall", id, name, rawArguments: "", state: "writing", terminal: [], result: null, absent: null, startedAt: null, endedAt: null };
      this.#calls.set(id, call);
    }
    this.#homes.set(id, home);
    return call;
  }

  #results(content: Content | null): void {
    for (const p of content?.parts ?? []) {
      if (p.type !== "toolResult") continue;
      const call = this.#calls.get(p.toolCallId);
      if (call) this.#answered(call, p.parts ?? [], p.isError ?? false);
    }
  }

  /** Marks a call whose result is stored but not loaded. */
  #resultAbsent(id: string | undefined, absent: Absent | null): void {
    const call = this.#calls.get(id ?? "");
    if (!call || !absent) return;
    call.absent = absent;
    if (!call.result) call.state = "done";
    this.#touchCall(call);
  }

  #answered(call: ToolCallView, parts: Part[], isError: boolean): void {
    call.result = { parts, isError };
    call.state = isError ? "failed" : "done";
    this.#touchCall(call);
  }

  #signal(d: EventOf<"signal.received">["data"]): void {
    this.#woken ||= wakes(this.#wait, this.#reason, d.signalName);
    if (d.signalName !== "userMessage") return;
    // Messages of a client of the Responses API are shown when the agent takes them.
    if (Array.isArray((d.signalValue as { messages?: unknown } | null | undefined)?.messages)) return;
    this.#queued.push({
      signalId: d.signalId,
      parts: partsOfUserMessage(d.signalValue),
      createdAt: d.createdAt,
    });
  }

  /** Removes the first queued message with the content of a user's entry. */
  #takeIn(parts: Part[]): void {
    this.#queued.removeFirst((q) => textOf(q.parts) === textOf(parts));
  }

  #data(e: EventOf<"data">): void {
    const d = e.data.data;
    const { seq } = e.data;
    if (!d) return; // only the worker of a LOCAL execution has it
    if (d.type === "tool_call_start") {
      const { id, name } = (d as { tool_call: { id: string; name: string } }).tool_call;
      if (!this.#calls.has(id)) this.#say(e.data, this.#call(placeOf(e.data), id, name));
    } else if (d.type === "tool_call_end") {
      const end = d as { tool_call: { id: string }; result: { text?: string; isError?: boolean } };
      const call = this.#calls.get(end.tool_call.id);
      if (call && !call.result) {
        this.#answered(call, [{ type: "text", text: end.result.text ?? "" }], end.result.isError ?? false);
      }
    } else if (d.type === "response_end") {
      this.#stopReason = String((d as { stopReason?: unknown }).stopReason ?? "") || null;
    } else if (d.type === "compaction") {
      this.#compacting = (d as { state?: unknown }).state === "started";
    } else if (d.type === "plan") {
      this.#plan = d;
    } else if (d.type === "file_read" || d.type === "file_write") {
      this.#files.push({ path: String((d as { path: string }).path), action: d.type.slice(5), seq });
    } else if (d.type === "artifact") {
      const a = d as { path: string; action: string };
      this.#files.push({ path: a.path, action: a.action, seq });
    } else {
      this.#others.push({ seq, data: d as ExecutionView["others"][number]["data"] });
    }
  }
}

/** A message that is not stored is displayed once it has a part. */
function isShown(m: MessageView): boolean {
  return m.stored || m.parts.length > 0;
}

/** Returns a label for a file, or for an image that is not loaded. */
export function fileText(p: FilePart | ImageLinkPart): string {
  const words: string[] = [p.type];
  if (p.type === "file") words.push(p.filename ?? p.fileId ?? p.mimeType ?? "");
  if (p.url) words.push(p.url);
  return `[${words.filter(Boolean).join(" ")}]`;
}

/** Copies a call, because calls change in place. Other parts are replaced, never changed. */
function asShown(p: PartView): PartView {
  return p.type === "toolCall" ? { ...p, terminal: [...p.terminal] } : p;
}

function terminalOf(b: HeldBlock): ToolCallView["terminal"][number] {
  const stream = b.type === "terminal" && "stream" in b.data ? (b.data.stream ?? "stdout") : "stdout";
  return { stream, text: b.text, open: b.state === "open", truncated: b.state === "truncated" };
}

/** Returns equal text for parts with equal content, whatever the order of their members. */
function textOf(parts: Part[]): string {
  return JSON.stringify(parts, ["type", "text", "data", "mimeType"]);
}
