import { describe, expect, test } from "vitest";
import type { Status } from "../../client/src/index";
import { neededWorker, shownStatus, statusFilters } from "../fold/status";

describe("the reason why a run waits for another worker", () => {
  test("names the features that the run needs", () => {
    expect(neededWorker({ status: "PENDING", needsFeatures: ["context/1"] })).toBe(
      "needs a worker with context/1",
    );
    expect(neededWorker({ status: "PENDING", needsFeatures: ["context/1", "branch/1"] })).toBe(
      "needs a worker with context/1, branch/1",
    );
  });

  test("is missing if any worker may run it, or if it does not wait for a worker", () => {
    expect(neededWorker({ status: "PENDING" })).toBeNull();
    expect(neededWorker({ status: "PENDING", needsFeatures: [] })).toBeNull();
    for (const status of ["RUNNING", "WAITING", "CANCELLING", "COMPLETED", "FAILED", "CANCELLED"] as const) {
      expect(neededWorker({ status, needsFeatures: ["context/1"] })).toBeNull();
    }
  });
});

describe("the filters of the list of runs", () => {
  const word = (status: Status) => shownStatus({ status, kind: "order", waitReason: null }).label;

  test("are all statuses, each once, and have the words of the list where a status has one word", () => {
    const all: Status[] = ["PENDING", "RUNNING", "WAITING", "CANCELLING", "COMPLETED", "FAILED", "CANCELLED"];
    expect(statusFilters.map((f) => f.status).filter((s) => s !== "FAILED_TURN")).toEqual(all);
    for (const { label, status } of statusFilters) {
      if (status === "RUNNING" || status === "WAITING" || status === "FAILED_TURN") continue;
      expect(label).toBe(word(status));
    }
    const failed = {
      status: "WAITING",
      kind: "react-agent",
      waitReason: "signal",
      wait: { signal: "retry" },
    } as const;
    expect(statusFilters.find((f) => f.status === "FAILED_TURN")?.label).toBe(shownStatus(failed).label);
  });
});
