import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { copyWithStream, readGuide } from './guide.js'

const guide = readGuide()
const copy = copyWithStream(guide)
afterAll(() => copy.remove())

const SLOW = ['bench', 'chaos', 'crash', 'e2e', 'fleet', 'fuzz', 'package']

/** The tests of `npm test` that read the registry. */
const listRegistryTests = (): readonly string[] =>
  readdirSync(join(copy.root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts') && !SLOW.some((folder) => file.startsWith(`${folder}/`)))
    .filter((file) => /from '.*(streams\/registry|scripstream\/streams|readme)\b/.test(readFileSync(join(copy.root, 'test', file), 'utf8')))
    .map((file) => `test/${file}`)

describe('the guide "Add a stream in ten minutes"', () => {
  it('builds, lists, runs and queries the new stream', () => {
    const output = copy.run(guide.commands)
    expect(output).toContain('10 workers, follows master-data')
    expect(output).toMatch(/promoter-pledges +ok +\d+ /)
    expect(output).toMatch(/"promoter":"Family Trust \d","share":/)
    expect(output).toMatch(/^Family Trust \d,\d/m)
  })

  it('passes the tests of the guide', () => {
    const [own = '', conformance = '', pages = '', all = ''] = guide.testCommands.trim().split('\n')
    expect([own, conformance, pages, all].every((line) => line !== '')).toBe(true)
    copy.run([own, conformance, pages].join('\n'))
    expect(all).toBe('npm test')
    expect(readFileSync(join(copy.root, 'README.md'), 'utf8')).toContain('`promoter_pledges.json`')
  })

  it('passes lint, types and every test of the registry, without another change', () => {
    expect(listRegistryTests().length).toBeGreaterThan(20)
    const tests = `npx vitest run --no-isolate --test-timeout=30000 ${listRegistryTests().join(' ')}`
    copy.run(['npm run --silent lint', 'npm run --silent typecheck', tests].join('\n'))
  }, 1_200_000)
})
