import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sectionNames } from '../../src/analysis/diff/change.js'
import { checkNames } from '../../src/analysis/verify/finding.js'
import { targetForms } from '../../src/cli/export/targets.js'
import { createProgram, runProgram } from '../../src/cli/program.js'
import { streams } from '../../streams/registry.js'
import { createTestDependencies, createTestIo } from './support.js'

const folder = mkdtempSync(join(tmpdir(), 'scripstream-'))
afterAll(() => rmSync(folder, { recursive: true }))
mkdirSync(join(folder, 'shared'))

const scriptFor = async (name: string): Promise<string> => {
  const io = createTestIo()
  expect(await runProgram(['completion', name], io, createTestDependencies(undefined, { streams }))).toBe(0)
  return io.out.text()
}

const has = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0

/** What each shell offers for a line whose last word is being typed. */
const asks: Readonly<Record<string, (line: string, file: string) => readonly [string, readonly string[]]>> = {
  bash: (line, file) => {
    const words = line.split(' ').flatMap((word) => word.split(/(?<=[=:])|(?=[=:])/))
    const code = `source '${file}'; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _scripstream; printf '%s\\n' "\${COMPREPLY[@]}"`
    return ['bash', ['--norc', '-uc', code, 'bash', ...words]]
  },
  fish: (line, file) => ['fish', ['--no-config', '-c', `source '${file}'; complete -C '${line}' | string replace -r '\\t.*' ''`]],
}

const offeredBy = (name: string, file: string, line: string): readonly string[] => {
  const [command, args] = asks[name]?.(line, file) ?? ['false', []]
  const { stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', cwd: folder })
  expect(stderr).toBe('')
  return stdout.split('\n').filter((word) => word !== '')
}

/** Adds the reason to the title of a skipped test. */
const needing = (command: string, title: string): string =>
  has(command, '--version') ? title : `${title} (skipped: ${command} is not installed)`

describe.each(['bash', 'fish'])('in %s', (name) => {
  const file = join(folder, `completion.${name}`)
  beforeAll(async () => writeFileSync(file, await scriptFor(name)))

  const offered = (line: string): readonly string[] => offeredBy(name, file, line)

  test.skipIf(!has(name, '--version')).each([
    ['scripstream ', ['run', 'simulate', 'list', 'graph', 'completion']],
    ['scripstream si', ['simulate']],
    ['scripstream wor', ['worker']],
    ['scripstream run --en', ['--engine']],
    ['scripstream worker --na', ['--name']],
    ['scripstream worker --blobs sha', [name === 'fish' ? 'shared/' : 'shared']],
    ['scripstream run --fr', ['--fresh']],
    ['scripstream run --progress ', ['auto', 'bars', 'lines', 'none']],
    ['scripstream run --progress=ba', [name === 'bash' ? 'bars' : '--progress=bars']],
    ['scripstream run --out x --only mark', ['market-news']],
    ['scripstream run --only market-news,all-i', ['market-news,all-indices']],
    ['scripstream completion f', ['fish']],
    ['scripstream run --config comp', [`completion.${name}`]],
    ['scripstream verify --only spl', ['spliced-series']],
    ['scripstream verify --only files,lar', ['files,large-moves']],
    ['scripstream diff --only ci', ['circuits']],
    ['scripstream export --to ', ['duckdb:', 'parquet:', 'postgres://', `completion.${name}`]],
    ['scripstream run --sink par', ['parquet:']],
  ])(needing(name, 'completes %j'), (line, words) => expect(offered(line)).toEqual(expect.arrayContaining(words)))

  test.skipIf(!has(name, '--version'))(needing(name, 'offers only matching words'), () => {
    expect(offered('scripstream run --only market-news,all-i')).toHaveLength(1)
    expect(offered('scripstream run --progress ').length).toBe(4)
    expect(offered('scripstream nothing-like-it')).toEqual([])
    expect(offered('scripstream verify --only spl')).toHaveLength(1)
  })
})

describe('a prefix with a colon, which bash splits into its own word', () => {
  const file = join(folder, 'colon.bash')
  beforeAll(async () => writeFileSync(file, await scriptFor('bash')))

  test.skipIf(!has('bash', '--version')).each([
    ['scripstream export --to duckdb:col', ['colon.bash']],
    ['scripstream run --sink=parquet:col', ['colon.bash']],
    ['scripstream export --to postgres://', []],
    ['scripstream run --as-of 2026-02-12T20:', []],
  ])(needing('bash', 'is recognized in %j'), (line, words) => expect(offeredBy('bash', file, line)).toEqual(words))
})

/** Commands with their options, as the program declares them. */
const declared = createProgram({
  args: [],
  io: createTestIo(),
  dependencies: createTestDependencies(undefined, { streams }),
  act: () => Promise.resolve(),
}).commands.map((command) => ({
  name: command.name(),
  options: command.options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? ''),
}))

/** The completions of a script for the first word, and for the options of a command. */
const readOptions: Readonly<Record<string, (script: string, command?: string) => string>> = {
  bash: (script, command) => new RegExp(`^ *${command ?? "''"}\\) words='(.*)' ;;$`, 'm').exec(script)?.[1] ?? '',
  zsh: (script, command) =>
    (command === undefined ? /commands=\(([\s\S]*?)\n +\)/ : new RegExp(`^ *${command}\\)([\\s\\S]*?);;`, 'm')).exec(script)?.[1] ?? '',
  fish: (script, command) =>
    script
      .split('\n')
      .filter((line) => line.includes(command === undefined ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${command}'`))
      .join('\n')
      .replaceAll(/ -l (\S)/g, ' --$1'),
}

const hasWord = (text: string, word: string): boolean => new RegExp(`(?<![\\w-])${word}(?![\\w-])`).test(text)

describe('every script', () => {
  test.each(['bash', 'zsh', 'fish'])('for %s offers all commands, all their options and all known names', async (name) => {
    const script = await scriptFor(name)
    const missing = declared.flatMap(({ name: command, options }) => [
      ...(hasWord(readOptions[name]?.(script) ?? '', command) ? [] : [command]),
      ...options.filter((option) => !hasWord(readOptions[name]?.(script, command) ?? '', option)).map((option) => `${command} ${option}`),
    ])
    expect(declared.flatMap(({ options }) => options).length).toBeGreaterThan(40)
    expect(missing).toEqual([])
    for (const names of [streams.map((stream) => stream.name), checkNames, sectionNames, targetForms])
      expect(script).toContain(names.join(' '))
  })

  test.skipIf(!has('zsh', '--version'))(needing('zsh', 'for zsh has valid syntax'), async () => {
    const check = spawnSync('zsh', ['-n'], { input: await scriptFor('zsh'), encoding: 'utf8' })
    expect([check.status, check.stderr]).toEqual([0, ''])
  })

  test.skipIf(!has('shellcheck', '--version'))(needing('shellcheck', 'for bash passes shellcheck'), async () => {
    expect(spawnSync('shellcheck', ['-s', 'bash', '-'], { input: await scriptFor('bash'), encoding: 'utf8' }).stdout).toBe('')
  })
})
