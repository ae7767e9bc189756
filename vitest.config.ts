import { defineConfig } from 'vitest/config'

// More stocks, kills or payloads than usual, or a captured market, take as long as they take.
const isLong = ['STOCKS', 'KILLS', 'FUZZ_RUNS', 'SCRIPSTREAM_CAPTURED'].some((name) => name in process.env)
/** The limit of a test and of a hook: a whole market, or a run that is killed several times, on a busy machine. */
const LIMIT_MS = isLong ? 6 * 3_600_000 : 600_000
/** The limit of one wait within a test, shorter so that its failure says what did not come about. */
const WAIT_MS = LIMIT_MS / 5

// The only time limits of tests; test/time-limits.test.ts refuses those of a single test.
// biome-ignore lint/style/noDefaultExport: vitest reads it
export default defineConfig({
  test: {
    isolate: false,
    maxWorkers: 2,
    testTimeout: LIMIT_MS,
    hookTimeout: LIMIT_MS,
    expect: { poll: { timeout: WAIT_MS } },
    provide: { waitMs: WAIT_MS },
  },
})
