import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commands } from '../src/cli/index.js'
import { createProgram } from '../src/cli/program.js'
import { createCollector } from '../src/collector.js'
import { Settings } from '../src/model/settings.js'
import { streams } from '../streams/registry.js'
import { createTestDependencies, createTestIo } from './cli/support.js'

/** What users learn and read. These numbers only go down. */
const MOST = { commands: 19, flags: 124, settings: 26, words: 38_400 }

const root = join(import.meta.dirname, '..')
const program = createProgram(commands, {
  args: [],
  io: createTestIo(),
  dependencies: createTestDependencies(undefined, { streams, createCollector }),
  act: () => Promise.resolve(),
})

/** Not of what commands of the README and builds leave. */
const isOwn = (path: string): boolean =>
  !/(^|\/)(node_modules|dist|dist-bench|docs|data|demo-data|trial|coverage)\//.test(path)

const countWords = (): number =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md') && isOwn(path))
    .reduce(
      (sum, path) => sum + readFileSync(join(root, path), 'utf8').split(/\s+/).filter(Boolean).length,
      0,
    )

describe('the surface does not grow:', () => {
  const counts = {
    commands: program.commands.length,
    flags: program.commands.reduce((sum, { options }) => sum + options.length, 0),
    settings: Object.keys(Settings.shape).length,
    words: countWords(),
  }
  it.each(Object.keys(MOST) as readonly (keyof typeof MOST)[])('%s', (name) => {
    expect(counts[name]).toBeLessThanOrEqual(MOST[name])
    // A number that went down becomes the limit; words may vary a little.
    expect(counts[name]).toBeGreaterThan(MOST[name] * 0.95 - 1)
  })
})
