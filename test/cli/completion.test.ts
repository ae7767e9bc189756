import { spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { folder as outputFolder } from '../../sinks/folder.js'
import { targetForms } from '../../src/cli/export/targets.js'
import { commands } from '../../src/cli/index.js'
import { createProgram, runProgram } from '../../src/cli/program.js'
import { sectionNames } from '../../src/model/change.js'
import { checkNames } from '../../src/verify/finding.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { folderWith } from '../tables/support.js'
import { createTestDependencies, createTestIo } from './support.js'

const folder = temporaryFolder()
// The scripts ask the command, by the name that the user has typed.
const built = resolve('dist/bundle/cli/scripstream.cjs')
writeFileSync(join(folder, 'scripstream'), `#!/bin/sh\nexec node "${built}" "$@"\n`)
chmodSync(join(folder, 'scripstream'), 0o755)
writeFileSync(join(folder, 'scripstream.config.json'), '{ "watchlists": { "mine": ["TCS"] } }')
const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` }

/** What the command prints for a shell and the words typed so far. */
const runCompletion = async (...args: readonly string[]): Promise<string> => {
  const io = createTestIo()
  expect(
    await runProgram(
      ['completion', ...args],
      io,
      createTestDependencies(undefined, { streams, storage: ({ out }) => outputFolder(out) }),
    ),
  ).toBe(0)
  return io.out.text()
}

/** What is offered for the last word of a line, whatever the shell. */
const offeredFor = async (line: string): Promise<readonly string[]> =>
  (await runCompletion('bash', '--', ...line.split(' ').slice(1))).split('\n').slice(0, -1)

const has = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0

/** What each shell offers for a line whose last word is being typed. */
const asks: Readonly<Record<string, (line: string, file: string) => readonly [string, readonly string[]]>> = {
  bash: (line, file) => {
    const words = line.split(' ').flatMap((word) => word.split(/(?<=[=:@])|(?=[=:@])/))
    const code = `source '${file}'; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _scripstream; printf '%s\\n' "\${COMPREPLY[@]}"`
    return ['bash', ['--norc', '-uc', code, 'bash', ...words]]
  },
  fish: (line, file) => [
    'fish',
    ['--no-config', '-c', `source '${file}'; complete -C '${line}' | string replace -r '\\t.*' ''`],
  ],
}

const offeredBy = (name: string, file: string, line: string): readonly string[] => {
  const [command, args] = asks[name]?.(line, file) ?? ['false', []]
  const { stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', cwd: folder, env })
  expect(stderr).toBe('')
  return stdout.split('\n').filter((word) => word !== '')
}

/** Adds the reason to the title of a skipped test. */
const needing = (command: string, title: string): string =>
  has(command, '--version') ? title : `${title} (skipped: ${command} is not installed)`

describe.each(['bash', 'fish'])('in %s', (name) => {
  const file = join(folder, `completion.${name}`)
  beforeAll(async () => writeFileSync(file, await runCompletion(name)))

  const offered = (line: string): readonly string[] => offeredBy(name, file, line)

  test.skipIf(!has(name, '--version')).each([
    ['scripstream si', ['simulate']],
    ['scripstream worker --na', ['--name']],
    ['scripstream run --progress ', ['auto', 'bars', 'lines', 'none']],
    ['scripstream run --progress=ba', [name === 'bash' ? 'bars' : '--progress=bars']],
    ['scripstream run --only market-news,all-i', ['market-news,all-indices']],
    ['scripstream run --symbols @mi', [name === 'bash' ? 'mine' : '@mine']],
    ['scripstream export --to ', ['duckdb:', 'qlib:', 'postgres://']],
    ['scripstream nothing-like-it', []],
  ])(needing(name, 'completes %j'), (line, words) =>
    expect(offered(line)).toEqual(expect.arrayContaining(words)),
  )
})

describe('the answer to a script', () => {
  test.each([
    ['scripstream ', ['run', 'simulate', 'list', 'completion']],
    ['scripstream wor', ['worker']],
    ['scripstream run --en', ['--engine']],
    ['scripstream run --fr', ['--fresh']],
    ['scripstream run --pat', ['--patience']],
    ['scripstream run --out x --only mark', ['market-news']],
    ['scripstream completion f', ['fish']],
    ['scripstream verify --only spl', ['spliced-series']],
    ['scripstream verify --only files,lar', ['files,large-moves']],
    ['scripstream diff --only ci', ['circuits']],
    ['scripstream run --sink ql', ['qlib:']],
  ])('for %j offers %j', async (line, words) =>
    expect(await offeredFor(line)).toEqual(expect.arrayContaining(words)),
  )

  test('has the symbols and the statements of the folder that is named', async () => {
    const out = folderWith({
      'master_isin_map.json': ['INFY', 'TCS', 'TITAN'].map((name, index) => ({
        Symbol: name,
        ISIN: `INE00000000${index}`,
        Name: name,
      })),
      '.scripstream/queries/mine.sql': 'from master',
    })
    const offered = async (line: string) => offeredFor(`scripstream ${line}`)
    expect(await offered(`show --out ${out} T`)).toEqual(['TCS', 'TITAN'])
    expect(await offered(`run --out ${out} --symbols INFY,TC`)).toEqual(['INFY,TCS'])
    expect(await offered(`show -o ${out} T`)).toEqual(['TCS', 'TITAN'])
    expect(await offered(`run -qo ${out} --symbols INFY,TC`)).toEqual(['INFY,TCS'])
    expect(await offered(`query --out ${out} mi`)).toEqual(['mine'])
    expect(await offered(`query --out ${out} break`)).toEqual(['breakouts'])
  })

  test('has only matching words', async () => {
    expect(await offeredFor('scripstream run --only market-news,all-i')).toEqual(['market-news,all-indices'])
    expect(await offeredFor('scripstream run --progress ')).toHaveLength(4)
  })

  test.each([
    'serve --an',
    'nothing-like-it',
    'run --config x',
    'run -o x',
    'run --config=x',
    'worker --blobs x',
    'run --sink=qlib:x',
  ])('is empty for %j, where the shell offers files', async (line) =>
    expect(await offeredFor(`scripstream ${line}`)).toEqual([]),
  )

  test('has an `=` before its words', async () => {
    expect(await offeredFor('scripstream run --sink=ql')).toEqual(['--sink=qlib:'])
  })

  test('has descriptions in fish and zsh', async () => {
    expect(await runCompletion('fish', '--', 'simul')).toMatch(/^simulate\t\w/)
    expect(await runCompletion('zsh', '--', 'simul')).toMatch(/^simulate:\w/)
  })

  test('names all commands, all their options and all known names', async () => {
    const missing = await Promise.all(
      declared.map(async ({ name, options }) => {
        const offered = await offeredFor(`scripstream ${name} `)
        return options
          .filter((option) => option !== '' && !offered.includes(option))
          .map((option) => `${name} ${option}`)
      }),
    )
    expect(declared.flatMap(({ options }) => options).length).toBeGreaterThan(40)
    expect(missing.flat()).toEqual([])
    expect(await offeredFor('scripstream ')).toEqual(expect.arrayContaining(declared.map(({ name }) => name)))
    for (const [line, names] of [
      ['run --only', streams.map((stream) => stream.name)],
      ['verify --only', checkNames],
      ['diff --only', sectionNames],
      ['export --to', targetForms],
    ] as const)
      expect(await offeredFor(`scripstream ${line} `)).toEqual(names)
  })
})

/** Commands with their options, as the program declares them. */
const declared = createProgram(commands, {
  args: [],
  io: createTestIo(),
  dependencies: createTestDependencies(undefined, { streams }),
  act: () => Promise.resolve(),
}).commands.map((command) => ({
  name: command.name(),
  options: command.options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? ''),
}))

describe('every script', () => {
  test.skipIf(!has('zsh', '--version'))(needing('zsh', 'for zsh has valid syntax'), async () => {
    const check = spawnSync('zsh', ['-n'], { input: await runCompletion('zsh'), encoding: 'utf8' })
    expect([check.status, check.stderr]).toEqual([0, ''])
  })

  test.skipIf(!has('shellcheck', '--version'))(
    needing('shellcheck', 'for bash passes shellcheck'),
    async () => {
      expect(
        spawnSync('shellcheck', ['-s', 'bash', '-'], { input: await runCompletion('bash'), encoding: 'utf8' })
          .stdout,
      ).toBe('')
    },
  )
})
