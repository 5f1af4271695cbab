import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Clock } from "../src/backoff";
import { PerdureClient } from "../src/client";
import type { StreamFollower } from "../src/follower";
import { FakeServer, type Fault, plainMessages } from "./fakeserver";
import { type Log, recordedRun, tangledRun } from "./log";

const clock: Clock = { sleep: () => new Promise((resolve) => setImmediate(resolve)), random: () => 0.5 };

function follow(server: FakeServer, stream: "agent" | "consolidated"): StreamFollower {
  const client = new PerdureClient({ baseUrl: "http://server", fetch: server.fetch });
  return client.executions.follow("x1", { stream, clock });
}

async function ended(f: StreamFollower): Promise<unknown> {
  await f.until((now) => now.connection === "ended");
  return { messages: plainMessages(f.held.messages), view: f.view };
}

const logs: [string, Log][] = [
  ["recorded", recordedRun()],
  ["tangled", tangledRun()],
];

const harmless = {
  cut: fc.nat(30_000),
  clean: fc.boolean(),
  rewind: fc.nat(40),
  duplicate: fc.nat(200),
  piece: fc.integer({ min: 1, max: 4000 }),
};

const faults: fc.Arbitrary<Fault> = fc.record(
  { ...harmless, swap: fc.nat(200), drop: fc.nat(200) },
  { requiredKeys: [] },
);

describe.each(logs)("the %s log", (_, log) => {
  describe.each(["consolidated", "agent"] as const)("on the stream %s", (stream) => {
    test("cut at any byte, it is the same", async () => {
      const want = await ended(follow(new FakeServer(log), stream));
      let total = 0;
      for (let i = 0; i < log.length; i++) total += JSON.stringify(log[i]).length;
      for (let cut = 1; cut < total; cut += Math.floor(total / 97)) {
        const f = follow(new FakeServer(log, [{ cut }, { cut: 400 }, { cut: 1 }]), stream);
        expect(await ended(f)).toEqual(want);
      }
    });

    test("any cuts, repeats, losses and changes of order give the same state", async () => {
      const want = await ended(follow(new FakeServer(log), stream));
      await fc.assert(
        fc.asyncProperty(fc.array(faults, { maxLength: 8 }), async (them) => {
          expect(await ended(follow(new FakeServer(log, them), stream))).toEqual(want);
        }),
        { numRuns: 150 },
      );
    });
  });
});

test("a cut resumes from the last id, exact to the record", async () => {
  const server = new FakeServer(recordedRun(), [{ cut: 5000 }]);
  const f = follow(server, "consolidated");
  await ended(f);
  expect(server.asked.length).toBe(2);
  expect(server.asked[1]?.lastEventId).toMatch(/^:\d+$/);
  expect([f.cuts, f.resets]).toEqual([1, 0]);
});

test("a stream that is closed without end is a cut, not the end", async () => {
  const server = new FakeServer(recordedRun(), [{ cut: 3000, clean: true }]);
  const f = follow(server, "consolidated");
  await ended(f);
  expect(f.cuts).toBe(1);
  expect(f.view.status).toBe("COMPLETED");
});

test("a hole loads again from what is held, without dropping it", async () => {
  const log = recordedRun();
  const server = new FakeServer(log, [{ drop: 20 }]);
  const f = follow(server, "consolidated");
  await ended(f);
  expect(server.asked[1]).toEqual({ lastEventId: null, afterSeq: expect.stringMatching(/^[1-9]/) });
  expect(f.resets).toBe(0);
});

test("a reset drops what was there", async () => {
  const server = new FakeServer(recordedRun(), [{ cut: 9000 }]);
  server.onCut = () => server.restore(tangledRun(), "other");
  const f = follow(server, "consolidated");
  await f.until((now) => now.connection === "ended");
  const want = await ended(follow(server, "consolidated"));
  expect(await ended(f)).toEqual(want);
  expect(f.resets).toBe(1);
});

test("an end that comes before what ended the run is not believed", async () => {
  const log = recordedRun();
  const server = new FakeServer(log, [{ drop: log.length - 1 }]);
  const f = follow(server, "consolidated");
  await ended(f);
  expect(server.asked.length).toBe(2);
  expect(f.view.status).toBe("COMPLETED");
});

test("204 stops: the end itself was lost", async () => {
  const log = recordedRun();
  const server = new FakeServer(log, [{ drop: log.length, clean: true }]);
  const f = follow(server, "consolidated");
  await ended(f);
  expect(server.asked.length).toBe(2);
  expect([f.cuts, f.resets, f.view.status]).toEqual([1, 0, "COMPLETED"]);
});

test("a hole that stays is not asked for without a pause", async () => {
  const log = recordedRun();
  const holed = log.filter((_, i) => i !== 20);
  let pauses = 0;
  const client = new PerdureClient({ baseUrl: "http://server", fetch: new FakeServer(holed).fetch });
  const f = client.executions.follow("x1", {
    clock: {
      random: () => 0.5,
      sleep: async (_, signal) => {
        if (++pauses === 5) f.stop();
        await clock.sleep(0, signal);
      },
    },
  });
  await expect(f.until(() => false)).rejects.toThrow("stopped");
  expect(pauses).toBe(5);
});

test("a log whose beginning is no longer kept is followed from where it begins", async () => {
  const server = new FakeServer(recordedRun().slice(-3));
  const f = follow(server, "consolidated");
  await ended(f);
  expect(f.held.messages.length).toBe(3);
  expect(f.view.status).toBe("COMPLETED");
});

test("an early end after gaps is not believed either", async () => {
  const log = tangledRun();
  const want = await ended(follow(new FakeServer(log), "agent"));
  for (let swap = 0; swap < 200; swap++) {
    const faults: Fault[] = [
      { duplicate: 0, drop: 48 },
      { duplicate: 0, swap: 0 },
      { swap },
      { swap },
      { swap },
    ];
    expect(await ended(follow(new FakeServer(log, faults), "agent"))).toEqual(want);
  }
});
