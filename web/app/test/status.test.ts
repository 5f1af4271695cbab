import { describe, expect, test } from "vitest";
import { neededWorker } from "../fold/status";

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
