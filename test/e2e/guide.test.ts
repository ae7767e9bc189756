import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const COPIED = [
  'src',
  'streams',
  'sinks',
  'test',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'biome.json',
  'vitest.config.ts',
  '.gitignore',
  'LICENSE',
  'SECURITY.md',
  // What is built and checked need not be once more: only what the stream changes.
  'dist',
]
const PAGES = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md']

/** The code blocks of the guide "Add a stream in ten minutes", in their order. */
interface Guide {
  readonly stream: string
  readonly registryLine: string
  readonly commands: string
  readonly test: string
  readonly testCommands: string
}

const readGuide = (): Guide => {
  const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
  const [, section = ''] = /\n## Add a stream in ten minutes\n(.*?)\n## /s.exec(page) ?? []
  const blocks = [...section.matchAll(/```(?:ts|sh)\n(.*?)```/gs)].map(([, text = '']) => text)
  if (blocks.length !== 5) throw new Error(`the guide has ${blocks.length} code blocks instead of 5`)
  const [stream = '', registryLine = '', commands = '', test = '', testCommands = ''] = blocks
  return { stream, registryLine, commands, test, testCommands }
}

/** A copy of the repository in a temporary folder, with the stream of the guide added. */
const copyWithStream = ({ stream, registryLine, test }: Guide) => {
  const root = mkdtempSync(join(tmpdir(), 'scripstream-guide-'))
  for (const name of [...COPIED, ...PAGES]) cpSync(join(ROOT, name), join(root, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  writeFileSync(join(root, 'streams/promoter-pledges.ts'), stream)
  writeFileSync(join(root, 'test/streams/promoter-pledges.test.ts'), test)
  const index = join(root, 'streams/index.ts')
  // In alphabetical order.
  writeFileSync(
    index,
    readFileSync(index, 'utf8').replace(/^export .*surveillance-lists.*$/m, (line) => registryLine + line),
  )
  return {
    root,
    /** Runs a script of the guide; stops at the first command that fails. */
    run: (script: string): string =>
      execFileSync('sh', ['-e', '-c', script], {
        cwd: root,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
        maxBuffer: 2 ** 26,
      }),
    remove: () => rmSync(root, { recursive: true, force: true }),
  }
}

const guide = readGuide()
const copy = copyWithStream(guide)
afterAll(() => copy.remove())

const SLOW = ['bench', 'chaos', 'crash', 'e2e', 'fleet', 'fuzz', 'package']

/**
 * The tests of `npm test` that look at every stream of the registry, without those that the guide itself
 * runs.
 */
const listRegistryTests = (): readonly string[] =>
  readdirSync(join(copy.root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts') && !SLOW.some((folder) => file.startsWith(`${folder}/`)))
    .filter((file) =>
      /from '.*(streams\/registry|readme)\b[\s\S]*\bstreams\.\w+\(/.test(
        readFileSync(join(copy.root, 'test', file), 'utf8'),
      ),
    )
    .map((file) => `test/${file}`)
    .filter((file) => !guide.testCommands.includes(file))

describe('the guide "Add a stream in ten minutes"', () => {
  it('builds, lists, runs and queries the new stream', () => {
    const output = copy.run(guide.commands)
    expect(output).toContain('10 workers, follows master-data')
    expect(output).toMatch(/enrichment +promoter-pledges +\d+ items/)
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

  it.each(['lint', 'typecheck'])('passes %s without another change', (script) => {
    copy.run(`npm run --silent ${script}`)
  })

  it('passes every test that looks at every stream, without another change', () => {
    expect(listRegistryTests().length).toBeGreaterThan(15)
    copy.run(`npx vitest run ${listRegistryTests().join(' ')}`)
  })
})
