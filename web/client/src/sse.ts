/** One server-sent event as received. */
export interface RawEvent {
  id: string;
  event: string;
  data: string;
}

/**
 * Parses server-sent events from text that arrives in pieces, split anywhere. Text at the
 * end without a terminating empty line is dropped, as the standard requires
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 */
export class EventParser {
  #rest = "";
  #seen = 0; // the length of the prefix without a line end
  #id = "";
  #event = "";
  #data: string[] = [];
  #begun = false;

  /** Returns the events that the piece completes. */
  push(text: string): RawEvent[] {
    const out: RawEvent[] = [];
    let buffer = this.#rest + text;
    if (!this.#begun && buffer.length > 0) {
      this.#begun = true;
      if (buffer.charCodeAt(0) === 0xfeff) buffer = buffer.slice(1);
    }
    let from = 0;
    let i = this.#seen;
    for (; i < buffer.length; i++) {
      const c = buffer[i];
      if (c !== "\n" && c !== "\r") continue;
      if (c === "\r" && i + 1 === buffer.length) break; // a line feed may follow
      this.#line(buffer.slice(from, i), out);
      if (c === "\r" && buffer[i + 1] === "\n") i++;
      from = i + 1;
    }
    this.#rest = buffer.slice(from);
    this.#seen = i - from;
    return out;
  }

  #line(line: string, out: RawEvent[]): void {
    if (line === "") {
      if (this.#data.length > 0) {
        out.push({ id: this.#id, event: this.#event || "message", data: this.#data.join("\n") });
      }
      this.#event = "";
      this.#data = [];
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
  }
}
