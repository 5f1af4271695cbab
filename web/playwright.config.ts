import { defineConfig } from "@playwright/test";

/** The pages in a real browser, with the real server and scripted models. */
export default defineConfig({
  testDir: "e2e",
  outputDir: "test-results",
  workers: 2,
  timeout: 90_000,
  expect: { timeout: 20_000 },
  forbidOnly: true,
  reporter: "line",
  use: {
    viewport: { width: 1280, height: 860 },
    launchOptions: { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] },
  },
});
