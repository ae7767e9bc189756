import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runProgram } from '../../src/cli/program.js'
import { streams } from '../../streams/index.js'
import { createParts, createShell } from './support.js'

const folder = mkdtempSync(join(tmpdir(), 'scripstream-'))
afterAll(() => rmSync(folder, { recursive: true }))

const scriptFor = async (name: string): Promise<string> => {
  const shell = createShell()
  expect(await runProgram(['completion', name], shell, createParts(undefined, { streams }))).toBe(0)
  return shell.out.text()
}

const has = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0

/** What each shell offers for a line whose last word is being typed. */
const asks: Readonly<Record<string, (line: string, file: string) => readonly [string, readonly string[]]>> = {
  bash: (line, file) => {
    const words = line.split(' ').flatMap((word) => word.split(/(?<==)|(?==)/))
    const code = `source '${file}'; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _scripstream; printf '%s\\n' "\${COMPREPLY[@]}"`
    return ['bash', ['--norc', '-uc', code, 'bash', ...words]]
  },
  fish: (line, file) => ['fish', ['--no-config', '-c', `source '${file}'; complete -C '${line}' | string replace -r '\\t.*' ''`]],
}

describe.each(['bash', 'fish'])('in %s', (name) => {
  const file = join(folder, `completion.${name}`)
  beforeAll(async () => writeFileSync(file, await scriptFor(name)))

  const offered = (line: string): readonly string[] => {
    const [command, args] = asks[name]?.(line, file) ?? ['false', []]
    const { stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', cwd: folder })
    expect(stderr).toBe('')
    return stdout.split('\n').filter((word) => word !== '')
  }

  test.skipIf(!has(name, '--version')).each([
    ['scripstream ', ['run', 'simulate', 'list', 'graph', 'completion']],
    ['scripstream si', ['simulate']],
    ['scripstream run --fr', ['--fresh']],
    ['scripstream run --progress ', ['auto', 'bars', 'lines', 'none']],
    ['scripstream run --progress=ba', [name === 'bash' ? 'bars' : '--progress=bars']],
    ['scripstream run --out x --only mark', ['market-news']],
    ['scripstream run --only market-news,all-i', ['market-news,all-indices']],
    ['scripstream completion f', ['fish']],
    ['scripstream run --config comp', [`completion.${name}`]],
  ])('%j is completed', (line, words) => expect(offered(line)).toEqual(expect.arrayContaining(words)))

  test.skipIf(!has(name, '--version'))('nothing but what fits is offered', () => {
    expect(offered('scripstream run --only market-news,all-i')).toHaveLength(1)
    expect(offered('scripstream run --progress ').length).toBe(4)
    expect(offered('scripstream nothing-like-it')).toEqual([])
  })
})

describe('every script', () => {
  test.each(['bash', 'zsh', 'fish'])('for %s names all commands, options and streams', async (name) => {
    const script = await scriptFor(name)
    for (const word of ['simulate', 'completion', 'accept-shrink', 'log-level', ...streams.map((stream) => stream.name)])
      expect(script).toContain(word)
  })

  test.skipIf(!has('zsh', '--version'))('for zsh is one that zsh can read', async () => {
    const check = spawnSync('zsh', ['-n'], { input: await scriptFor('zsh'), encoding: 'utf8' })
    expect([check.status, check.stderr]).toEqual([0, ''])
  })

  test.skipIf(!has('shellcheck', '--version'))('for bash is as shellcheck wants it', async () => {
    expect(spawnSync('shellcheck', ['-s', 'bash', '-'], { input: await scriptFor('bash'), encoding: 'utf8' }).stdout).toBe('')
  })
})
