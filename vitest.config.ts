import { defineConfig } from 'vitest/config'

// The only time limits of tests: a whole market, or a run that is killed 60 times, on a busy machine.
// biome-ignore lint/style/noDefaultExport: vitest reads it
export default defineConfig({ test: { isolate: false, maxWorkers: 2, testTimeout: 600_000, hookTimeout: 600_000 } })
