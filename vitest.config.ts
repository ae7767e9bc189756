import { defineConfig } from 'vitest/config'
import { BaseSequencer, type Reporter, type TestSpecification } from 'vitest/node'

/** Ends with the titles of the skipped tests, which say what is missing here. */
const nameSkipped: Reporter = {
  onTestRunEnd: (modules) => {
    const titles = modules.flatMap(({ children }) =>
      [...children.allTests('skipped')].map(({ fullName }) => fullName),
    )
    if (titles.length > 0)
      console.log(
        ['', 'Skipped, because something is missing here:', ...titles.map((title) => `  ${title}`), ''].join(
          '\n',
        ),
      )
  },
}

// More stocks, kills or payloads than usual, or a captured market, take as long as they take.
const isLong = ['STOCKS', 'KILLS', 'FUZZ_RUNS', 'SCRIPSTREAM_CAPTURED'].some((name) => name in process.env)
/** The limit of a test and of a hook: a whole market, or a run that is killed, on a busy machine. */
const LIMIT_MS = isLong ? 6 * 3_600_000 : 600_000
/** The limit of one wait within a test, shorter so that its failure says what did not come about. */
const WAIT_MS = LIMIT_MS / 5

/** What takes longest starts first: no core waits at the end. vitest itself starts with the longest text. */
const SLOW = /\/(page-data|guide|doors|answer-process|disk|first-contact|prefixes|simulate)\.test\.ts$/

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification): boolean => SLOW.test(moduleId)
    const sorted = await super.sort(files)
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))]
  }
}

// The only time limits of tests; test/time-limits.test.ts refuses those of a single test.
// biome-ignore lint/style/noDefaultExport: vitest reads it
export default defineConfig({
  test: {
    isolate: false,
    globalSetup: ['test/support/shared-folder.ts'],
    setupFiles: ['test/support/fixed-seed.ts'],
    maxWorkers: 2,
    testTimeout: LIMIT_MS,
    hookTimeout: LIMIT_MS,
    expect: { poll: { timeout: WAIT_MS } },
    sequence: { sequencer: SlowFirst },
    provide: { waitMs: WAIT_MS },
    reporters: ['default', nameSkipped],
  },
})
