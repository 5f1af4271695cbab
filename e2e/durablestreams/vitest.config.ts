import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['suite.test.ts'],
    setupFiles: ['setup.ts'],
    testTimeout: 60_000,
    // Some tests of the suite stop reading after one or two seconds, which can be too short on
    // a busy machine.
    retry: 2,
  },
})
