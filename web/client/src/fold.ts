import type { Common, EventOf, LogEvent, Snapshot } from "./events";
import { hasSeq } from "./events";
import type { HeldBlock, Message } from "./messages";
import type { Content, Entry, Part, Status, WaitReason } from "./types";
import {
  type ExecutionView,
  type MessageView,
  messageFrom,
  type PartView,
  partsOfUserMessage,
  phaseOf,
  placeOf,
  type ToolCallView,
} from "./view";

/** What is known besides the messages. */
export interface Base {
  /** Where the messages go on from. */
  snapshot?: Snapshot | undefined;
  /** Where there is none: the status that the server told when the connection began. */
  status?: Status | undefined;
}

/**
 * Makes what is shown of what is held. The same messages give the same view,
 * in whatever pieces they came.
 */
export function foldView(messages: readonly Message[], base: Base = {}): ExecutionView {
  const fold = new Fold(base);
  for (const m of messages) {
    if (m.kind === "block") fold.block(m);
    else fold.event(m.event);
  }
  return fold.view();
}

/** A part that is not stored yet, and the attempt that said it. */
interface Live {
  part: PartView;
  task: string;
  attempt: number;
}

class Fold {
  #status: Status | null;
  #reason: WaitReason | null;
  #wait: ExecutionView["wait"];
  #woken = false; // a signal came since the last wait
  #error: ExecutionView["error"] = null;
  #plan: unknown = null;
  readonly #entriesBefore: number;
  readonly #messages = new Map<string, MessageView>();
  readonly #live = new Map<string, Live[]>(); // by message
  readonly #calls = new Map<string, ToolCallView>();
  readonly #attempts = new Map<string, number>(); // newest, by task
  readonly #queued: ExecutionView["queued"] = [];
  readonly #files: ExecutionView["files"] = [];
  readonly #others: ExecutionView["others"] = [];

  constructor(base: Base) {
    const x = base.snapshot?.execution;
    this.#status = x?.status ?? base.status ?? null;
    this.#reason = x?.waitReason ?? null;
    this.#wait = x?.wait ?? null;
    this.#error = x?.error ? { message: x.error, code: x.errorCode ?? "" } : null;
    this.#entriesBefore = base.snapshot?.entriesBefore ?? 0;
    for (const e of base.snapshot?.entries ?? []) this.#entry(e);
  }

  block(b: HeldBlock): void {
    if (!this.#current(b.data) || b.state === "superseded") return;
    const open = b.state === "open";
    switch (b.type) {
      case "token":
      case "thinking":
        this.#say(b.data, { type: b.type === "token" ? "text" : "thinking", text: b.text, open });
        break;
      case "data":
        if (typeof b.data.data !== "string") this.#argue(b.data.data.tool_call.id, b.text);
        break;
      case "terminal": {
        const call = this.#calls.get(b.data.toolCallId ?? "");
        call?.terminal.push({
          stream: b.data.stream ?? "stdout",
          text: b.text,
          open,
          truncated: b.state === "truncated",
        });
        if (call) this.#runs(call);
      }
    }
  }

  event(e: LogEvent): void {
    if (!hasSeq(e) || !this.#current(e.data)) return;
    switch (e.event) {
      case "agent.waiting":
        this.#stands(e.data.status, e.data.reason, e.data.wait);
        this.#woken = false;
        break;
      case "agent.resumed":
      case "agent.started":
        this.#error = null;
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
      case "task.started": {
        const call = this.#calls.get(e.data.toolCallId ?? "");
        if (call) this.#runs(call);
      }
    }
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
      entriesBefore: this.#entriesBefore,
      queued: ended ? [] : this.#queued,
      error: this.#error,
      plan: this.#plan,
      files: this.#files,
      others: this.#others,
    };
  }

  #shown(): MessageView[] {
    const shown: MessageView[] = [];
    for (const m of this.#messages.values()) {
      const live = this.#live.get(m.id);
      const parts = live ? live.map((l) => l.part) : m.parts;
      if (m.stored || parts.length > 0) shown.push({ ...m, parts });
    }
    return shown;
  }

  #stands(status: Status, reason: WaitReason | null = null, wait: ExecutionView["wait"] = null): void {
    this.#status = status;
    this.#reason = reason;
    this.#wait = wait;
  }

  /**
   * Tells whether a record is of its task's newest attempt. When an attempt
   * begins, what the ones before it said is dropped.
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
    }
  }

  /** The parts that are being said in a place; null where the entry is stored. */
  #liveOf(d: Common): Live[] | null {
    const id = placeOf(d);
    const known = this.#messages.get(id);
    if (known?.stored && !known.contentMissing) return null;
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

  #say(d: Common, part: PartView): void {
    this.#liveOf(d)?.push({ part, task: d.taskExecutionId ?? "", attempt: d.attempt ?? 0 });
  }

  #argue(callId: string, text: string): void {
    const call = this.#calls.get(callId);
    if (call && call.state === "writing") call.rawArguments += text;
  }

  #runs(call: ToolCallView): void {
    if (call.state === "writing" || call.state === "waiting") call.state = "running";
  }

  #entry(e: Entry): void {
    if (e.entryType === "llm_call" || this.#messages.get(e.id)?.stored) return;
    if (e.role === "tool_result") {
      this.#results(e.content);
      return;
    }
    const m = messageFrom(e);
    this.#messages.set(e.id, m);
    if (e.content) {
      m.parts = e.content.parts.flatMap((p) => this.#storedPart(p));
      this.#live.delete(e.id);
    }
    if (e.role === "user") this.#takeIn(e.content?.parts ?? []);
  }

  #storedPart(p: Part): PartView[] {
    switch (p.type) {
      case "text":
        return [{ type: "text", text: p.text, open: false }];
      case "thinking":
        return [{ type: "thinking", text: p.thinking ?? "", open: false }];
      case "image":
        return [{ type: "image", data: p.data, mimeType: p.mimeType }];
      case "toolCall": {
        const call = this.#call(p.id, p.name);
        call.rawArguments = p.rawArguments ?? "";
        if ("arguments" in p) call.arguments = p.arguments;
        if (call.state === "writing") call.state = "waiting";
        return [call];
      }
      default:
        return [];
    }
  }

  #call(id: string, name: string): ToolCallView {
    let call = this.#calls.get(id);
    if (!call) {
      call = { type: "toolCall", id, name, rawArguments: "", state: "writing", terminal: [], result: null };
      this.#calls.set(id, call);
    }
    return call;
  }

  #results(content: Content | null): void {
    for (const p of content?.parts ?? []) {
      if (p.type !== "toolResult") continue;
      const call = this.#calls.get(p.toolCallId);
      if (call) this.#answered(call, p.parts ?? [], p.isError ?? false);
    }
  }

  #answered(call: ToolCallView, parts: Part[], isError: boolean): void {
    call.result = { parts, isError };
    call.state = isError ? "failed" : "done";
  }

  #signal(d: EventOf<"signal.received">["data"]): void {
    this.#woken = true;
    if (d.signalName !== "userMessage") return;
    // Messages of a client of the Responses API are shown as they are taken up.
    if (Array.isArray((d.signalValue as { messages?: unknown } | null | undefined)?.messages)) return;
    this.#queued.push({
      signalId: d.signalId,
      parts: partsOfUserMessage(d.signalValue),
      createdAt: d.createdAt,
    });
  }

  /** A user's entry takes the first message in the queue that says the same. */
  #takeIn(parts: Part[]): void {
    const i = this.#queued.findIndex((q) => textOf(q.parts) === textOf(parts));
    if (i >= 0) this.#queued.splice(i, 1);
  }

  #data(e: EventOf<"data">): void {
    const d = e.data.data;
    const { seq } = e.data;
    if (d.type === "tool_call_start") {
      const { id, name } = (d as { tool_call: { id: string; name: string } }).tool_call;
      if (!this.#calls.has(id)) this.#say(e.data, this.#call(id, name));
    } else if (d.type === "tool_call_end") {
      const end = d as { tool_call: { id: string }; result: { text?: string; isError?: boolean } };
      const call = this.#calls.get(end.tool_call.id);
      if (call && !call.result) {
        this.#answered(call, [{ type: "text", text: end.result.text ?? "" }], end.result.isError ?? false);
      }
    } else if (d.type === "response_end") {
      // The status tells it.
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

/** The same for parts that say the same, however their members are ordered. */
function textOf(parts: Part[]): string {
  return JSON.stringify(parts, ["type", "text", "data", "mimeType"]);
}
