import { defineConfig } from 'vitest/config'
import type { Reporter } from 'vitest/node'

/** Ends with the titles of the skipped tests, which say what is missing here. */
const nameSkipped: Reporter = {
  onTestRunEnd: (modules) => {
    const titles = modules.flatMap(({ children }) => [...children.allTests('skipped')].map(({ fullName }) => fullName))
    if (titles.length > 0)
      console.log(['', 'Skipped, because something is missing here:', ...titles.map((title) => `  ${title}`), ''].join('\n'))
  },
}

// The only time limits of tests: a whole market, or a run that is killed 60 times, on a busy machine.
// biome-ignore lint/style/noDefaultExport: vitest reads it
export default defineConfig({
  test: { isolate: false, maxWorkers: 2, testTimeout: 600_000, hookTimeout: 600_000, reporters: ['default', nameSkipped] },
})
