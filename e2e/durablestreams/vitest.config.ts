import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: { setupFiles: ['setup.ts'], testTimeout: 60_000, include: ['suite.test.ts'] },
})
