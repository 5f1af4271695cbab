import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['suite.test.ts'],
    setupFiles: ['setup.ts'],
    testTimeout: 60_000,
    // Some tests of the suite give up reading after a second or two, which a busy
    // machine may need for itself.
    retry: 2,
  },
})
