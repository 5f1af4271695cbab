import { describe, expect, test } from "vitest";
import type { LogEvent } from "../src/events";
import { HeldLog, type Page } from "../src/held";
import { getMaxSeq, getSyncSeq, mergeMessagesWithSync, messageOf } from "../src/messages";
import { plainMessages } from "./fakeserver";
import { LogWriter, recordedRun, tangledRun } from "./log";

const at = (seq: number) => ({ seq, agentExecutionId: "x1", createdAt: `t${seq}` });
const note = (seq: number, more: object = {}) =>
  ({
    cursor: `c${seq}`,
    event: "agent.resumed",
    data: { ...at(seq), status: "RUNNING", ...more },
  }) as LogEvent;
const token = (seq: number, offset: number, data: string) =>
  ({ cursor: "", event: "token", data: { ...at(seq), offset, data } }) as LogEvent;
const whole = (seq: number, data: string) =>
  ({
    cursor: "",
    event: "snapshot",
    data: { ...at(seq), offset: 0, type: "token", data, snapshot: true },
  }) as LogEvent;
const closed = (seq: number, blockSeq: number, length: number, reason = "done") =>
  ({
    cursor: "",
    event: "block.closed",
    data: { ...at(seq), blockSeq, length, sha256: "", reason },
  }) as LogEvent;
const page = (events: LogEvent[], more: Partial<Page> = {}): Page => {
  const seqs = events.map((e) => (e.data as { seq: number }).seq);
  return {
    events,
    first_seq: seqs[0] ?? 0,
    last_seq: seqs.at(-1) ?? 0,
    max_seq: seqs.at(-1) ?? 0,
    has_more: false,
    prepend: false,
    is_stale_client: false,
    ...more,
  };
};
const seqs = (held: HeldLog) => held.messages.map((m) => m.seq);
const text = (held: HeldLog, seq: number) => {
  const m = held.message(seq);
  return m?.kind === "block" ? m.text : undefined;
};
const filled = (...events: LogEvent[]) => {
  const held = new HeldLog();
  for (const e of events) expect(held.apply(e)).toBe("taken");
  return held;
};

describe("dedupe by (seq, offset)", () => {
  test("an event that comes twice is held once", () => {
    const held = filled(note(1), note(2));
    expect(held.apply(note(1))).toBe("known");
    expect(held.apply(note(2))).toBe("known");
    expect(seqs(held)).toEqual([1, 2]);
  });

  test("same seq as the last is a continuation", () => {
    const held = filled(token(1, 0, "Hel"), token(1, 3, "lo"));
    expect(text(held, 1)).toBe("Hello");
    expect(seqs(held)).toEqual([1]);
  });

  test("a chunk of an older seq continues its own block", () => {
    const held = filled(token(1, 0, "a"), token(2, 0, "x"), token(1, 1, "b"), token(2, 1, "y"));
    expect([text(held, 1), text(held, 2)]).toEqual(["ab", "xy"]);
  });

  test("offsets count bytes of UTF-8, not units of a string", () => {
    const held = filled(token(1, 0, "é漢🎉"));
    expect(held.apply(token(1, 4, "!"))).toBe("known"); // 4 units, but byte 4 is known
    expect(held.apply(token(1, 9, "!"))).toBe("taken");
    expect(text(held, 1)).toBe("é漢🎉!");
  });

  test("the known bytes of a chunk that overlaps are skipped", () => {
    const held = filled(token(1, 0, "aé"));
    expect(held.apply(token(1, 1, "é漢"))).toBe("taken");
    expect(text(held, 1)).toBe("aé漢");
  });

  test("a hole in a block is a gap, and nothing is taken in", () => {
    const held = filled(token(1, 0, "ab"));
    expect(held.apply(token(1, 3, "d"))).toBe("gap");
    expect(text(held, 1)).toBe("ab");
  });

  test("a block that is closed longer than it is held is a gap", () => {
    const held = filled(token(1, 0, "ab"));
    expect(held.apply(closed(2, 1, 3))).toBe("gap");
    expect(held.syncSeq).toBe(0);
  });

  test("out-of-order events are a gap until the one before has come", () => {
    const held = filled(note(1));
    expect(held.apply(note(3))).toBe("gap");
    expect(held.apply(note(2))).toBe("taken");
    expect(held.apply(note(3))).toBe("taken");
  });

  test("prevSeq tells filtered from missing", () => {
    const held = filled(note(1), note(4, { prevSeq: 3 }), note(5, { prevSeq: 3 }));
    expect(held.apply(note(7, { prevSeq: 3 }))).toBe("gap");
    expect(held.apply(note(7, { prevSeq: 6 }))).toBe("taken");
    expect(held.apply(note(4, { prevSeq: 3 }))).toBe("known");
  });

  test("prevShown tells of an event that is missing before others were left out", () => {
    const held = filled(note(1));
    expect(held.apply(note(4, { prevSeq: 3, prevShown: 2 }))).toBe("gap");
    expect(held.apply(note(2, { prevSeq: 0, prevShown: 1 }))).toBe("taken");
    expect(held.apply(note(4, { prevSeq: 3, prevShown: 2 }))).toBe("taken");
  });

  test("a chunk that continues a block tells of an event that is missing, too", () => {
    const held = filled(token(1, 0, "a"));
    const next = token(1, 1, "b");
    expect(held.apply({ ...next, data: { ...next.data, prevSeq: 0, prevShown: 2 } } as LogEvent)).toBe("gap");
  });
});

describe("blocks", () => {
  test("a snapshot replaces what is held of its block", () => {
    const held = filled(note(1), token(2, 0, "wro"));
    expect(held.apply(whole(2, "right"))).toBe("taken");
    expect(text(held, 2)).toBe("right");
    expect(held.apply(token(2, 5, "!"))).toBe("taken");
  });

  test("a snapshot that comes late takes nothing back", () => {
    const held = filled(token(1, 0, "abc"), note(2), token(1, 3, "def"));
    expect(held.apply(whole(1, "abc"))).toBe("known");
    expect(text(held, 1)).toBe("abcdef");
  });

  test("a superseded block is dropped, and stays so", () => {
    const held = filled(token(1, 0, "abc"), closed(2, 1, 3, "superseded"));
    expect(text(held, 1)).toBe("");
    expect(held.apply(token(1, 3, "late"))).toBe("known");
    expect(held.apply(token(1, 0, "abc"))).toBe("known");
    expect(text(held, 1)).toBe("");
  });

  test("a block that had closed is dropped when it is superseded", () => {
    const held = filled(token(1, 0, "abc"), closed(2, 1, 3), closed(3, 1, 3, "superseded"));
    expect(text(held, 1)).toBe("");
    expect(held.message(1)).toMatchObject({ state: "superseded" });
    const merged = mergeMessagesWithSync(
      [messageOf(token(1, 0, "abc"))!, messageOf(closed(2, 1, 3))!],
      [messageOf(closed(3, 1, 3, "superseded"))!],
    );
    expect(merged[0]).toMatchObject({ text: "", bytes: 0, state: "superseded" });
  });

  test("of a block that was superseded after its end a replay has nothing, and misses nothing", () => {
    const held = filled(token(1, 0, ""), closed(2, 1, 3));
    expect(held.message(1)).toMatchObject({ text: "", state: "superseded" });
    expect(held.apply(closed(3, 1, 3, "superseded"))).toBe("taken");
  });

  test("a reader that was cut off within it finds out when it reads again", () => {
    const held = filled(token(1, 0, "ab"));
    expect(held.apply(closed(2, 1, 3))).toBe("gap");
    expect(held.apply(token(1, 0, ""))).toBe("taken");
    expect(held.apply(closed(2, 1, 3))).toBe("taken");
    expect(held.apply(closed(3, 1, 3, "superseded"))).toBe("taken");
    expect(text(held, 1)).toBe("");
  });
});

describe("the watermark is what is held", () => {
  test("getMaxSeq is derived from the messages", () => {
    const held = filled(note(1), note(2));
    expect(held.lastSeenSeq).toBe(2);
    expect(getMaxSeq(held.messages)).toBe(2);
    expect(getMaxSeq([])).toBe(0);
    held.reset();
    expect(held.lastSeenSeq).toBe(0);
  });

  test("a server that is further does not move it", () => {
    const held = new HeldLog();
    held.load(page([note(1), note(2)], { max_seq: 99, has_more: true }));
    expect(held.lastSeenSeq).toBe(2);
  });

  test("an open block is loaded again, because it may have grown", () => {
    const held = filled(note(1), token(2, 0, "a"), note(3));
    expect(getSyncSeq(held.messages)).toBe(1);
    expect(held.apply(closed(4, 2, 1))).toBe("taken");
    expect(getSyncSeq(held.messages)).toBe(4);
  });
});

describe("pages", () => {
  test("prepend never resets, and never moves the watermark", () => {
    const held = new HeldLog();
    held.load(page([note(5), note(6)], { has_more: true }));
    expect(held.load(page([note(3), note(4)], { prepend: true, max_seq: 4 }))).toBe("taken");
    expect(seqs(held)).toEqual([3, 4, 5, 6]);
    expect(held.lastSeenSeq).toBe(6);
    expect(held.apply(note(7))).toBe("taken");
  });

  test("a prepended block is closed by what came after it", () => {
    const held = new HeldLog();
    held.load(page([note(2), closed(3, 1, 2)]));
    held.load(page([whole(1, "ab")], { prepend: true }));
    expect(held.message(1)).toMatchObject({ text: "ab", state: "done" });
  });

  test("stale reset before processing: nothing of the old log is left", () => {
    const held = filled(note(1), note(2), note(3), token(4, 0, "old"));
    held.load(page([note(1, { fresh: true }), note(2, { fresh: true })], { is_stale_client: true }));
    expect(seqs(held)).toEqual([1, 2]);
    expect(held.messages.every((m) => m.kind === "event" && "fresh" in m.event.data)).toBe(true);
    expect(held.apply(note(3))).toBe("taken");
  });

  test("a page that leaves a hole is a gap", () => {
    const held = filled(note(1));
    expect(held.load(page([note(3)]))).toBe("gap");
    expect(seqs(held)).toEqual([1]);
  });

  test("a prepended page that leaves a hole is a gap", () => {
    const held = new HeldLog();
    held.load(page([note(5), note(6)]));
    expect(held.load(page([note(2), note(3)], { prepend: true }))).toBe("gap");
    expect(seqs(held)).toEqual([5, 6]);
  });

  test("a log that was restored and has grown since is told by its events", () => {
    const held = filled(note(1), note(2));
    const other = { ...note(2), data: { ...at(2), createdAt: "later", status: "RUNNING" } } as LogEvent;
    expect(held.contradicts(page([note(2), note(3)]))).toBe(false);
    expect(held.contradicts(page([other, note(3)]))).toBe(true);
    expect(held.contradicts(page([], { max_seq: 1 }))).toBe(true);
  });

  test("pieces of a block that was not loaded are left out", () => {
    const held = new HeldLog();
    held.load(page([note(5), note(6)], { has_more: true }));
    expect(held.apply(token(2, 7, "x"))).toBe("known");
    expect(seqs(held)).toEqual([5, 6]);
  });

  test("the blocks that reach over the seq before a page complete what is held, and nothing else", () => {
    const held = new HeldLog();
    held.load(page([note(5), whole(6, "half "), note(7)], { has_more: true }));
    // Block 2 is before the held messages. It does not become the oldest message.
    const reaching = [whole(2, "of a tool"), whole(6, "half of it")];
    held.load(page([...reaching, closed(8, 6, 10)], { first_seq: 8 }));
    expect(held.messages.map((m) => m.seq)).toEqual([5, 6, 7, 8]);
    expect(held.message(6)).toMatchObject({ text: "half of it", state: "done" });
    expect(held.floor).toBe(4);
  });

  test("a page of nothing but such blocks moves nothing", () => {
    const held = new HeldLog();
    held.load(page([note(5), whole(6, "half ")], { has_more: true }));
    held.load(page([whole(2, "x"), whole(6, "half of it")], { first_seq: 0, last_seq: 0, max_seq: 6 }));
    expect(held.messages.map((m) => m.seq)).toEqual([5, 6]);
    expect(held.message(6)).toMatchObject({ text: "half of it" });
    expect(held.floor).toBe(4);
    expect(held.load(page([note(3), note(4)], { prepend: true }))).toBe("taken");
  });
});

describe("mergeMessagesWithSync", () => {
  const message = (e: LogEvent) => messageOf(e)!;

  test("merge with sync: each seq once, in order", () => {
    const merged = mergeMessagesWithSync(
      [note(2), note(3)].map(message),
      [note(1), note(2), note(4), note(3)].map(message),
    );
    expect(merged.map((m) => m.seq)).toEqual([1, 2, 3, 4]);
  });

  test("what is held longer is kept, what is loaded longer replaces", () => {
    const merged = mergeMessagesWithSync(
      [token(1, 0, "abc"), token(2, 0, "a")].map(message),
      [whole(1, "ab"), whole(2, "abc")].map(message),
    );
    expect(merged.map((m) => m.kind === "block" && m.text)).toEqual(["abc", "abc"]);
  });

  test("nothing that is given is changed", () => {
    const held = [message(token(1, 0, "abc"))];
    const before = structuredClone(held);
    mergeMessagesWithSync(held, [message(closed(2, 1, 3, "superseded"))]);
    expect(held).toEqual(before);
  });

  test("a log in pages of any size is the log read at once", () => {
    for (const log of [recordedRun(), tangledRun()]) {
      const read = new HeldLog();
      for (const e of log) expect(read.apply(e)).toBe("taken");
      for (const size of [1, 2, 7]) {
        let merged = mergeMessagesWithSync([], []);
        for (let i = 0; i < read.messages.length; i += size) {
          merged = mergeMessagesWithSync(merged, read.messages.slice(Math.max(0, i - 1), i + size));
        }
        expect(plainMessages(merged)).toEqual(plainMessages(read.messages));
      }
    }
  });
});

test("a writer's own log is taken in without a gap", () => {
  const w = new LogWriter();
  const b = w.open("token", "a");
  w.chunk("token", b, "b");
  w.close(b);
  expect(filled(...w.log).messages.length).toBe(2);
});

describe("what is on the worker of a LOCAL execution", () => {
  const common = (seq: number) => ({ seq, agentExecutionId: "x1", createdAt: "2026-11-21T08:00:00.000Z" });
  const at = (event: string, data: object) => ({ cursor: "", event, data }) as LogEvent;
  const withheld = (seq: number, offset: number, length: number) =>
    at("token", { ...common(seq), offset, length, content: "worker" });
  const said = (seq: number, offset: number, data: string) => at("token", { ...common(seq), offset, data });

  test("counts by its length, and misses nothing", () => {
    const log = new HeldLog();
    const args = { ...common(2), offset: 0, length: 4, content: "worker" };
    const events = [
      withheld(1, 0, 5),
      withheld(1, 5, 7),
      at("data", args),
      at("data", { ...common(3), content: "worker", length: 9, sha256: "" }),
      at("block.closed", { ...common(4), blockSeq: 1, length: 12, sha256: "", reason: "done" }),
    ];
    expect(events.map((e) => log.apply(e))).toEqual(["taken", "taken", "taken", "taken", "taken"]);
    expect(log.message(1)).toMatchObject({ bytes: 12, text: "", withheld: true, state: "done" });
    expect(log.syncSeq).toBe(1); // the arguments are still open
  });

  test("takes away nothing that was shown, and nothing is joined over it", () => {
    const log = new HeldLog();
    expect(log.apply(said(1, 0, "ab"))).toBe("taken");
    expect(log.apply(withheld(1, 0, 2))).toBe("known");
    expect(log.apply(withheld(1, 2, 3))).toBe("taken");
    expect(log.apply(said(1, 5, "fg"))).toBe("taken");
    expect(log.message(1)).toMatchObject({ bytes: 7, text: "ab", withheld: true });
    expect(log.apply(withheld(1, 9, 1))).toBe("gap");
  });

  test("comes whole in a page as a length, and later as a text", () => {
    const log = new HeldLog();
    log.apply(said(1, 0, "ab"));
    const whole = (data: object) =>
      at("snapshot", { ...common(1), type: "token", offset: 0, snapshot: true, ...data });
    expect(log.apply(whole({ length: 2, content: "worker" }))).toBe("known");
    expect(log.apply(whole({ length: 4, content: "worker" }))).toBe("taken");
    expect(log.message(1)).toMatchObject({ bytes: 4, text: "ab", withheld: true });
    expect(log.apply(whole({ data: "abcd" }))).toBe("taken");
    expect(log.message(1)).toMatchObject({ bytes: 4, text: "abcd", withheld: false });
  });
});
