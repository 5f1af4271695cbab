import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["app/test/**/*.test.ts", "client/test/**/*.test.ts", "client/e2e/**/*.test.ts"],
    testTimeout: 90_000,
    hookTimeout: 90_000,
    pool: "threads",
    poolOptions: { threads: { maxThreads: 2 } },
  },
});
