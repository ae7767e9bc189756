import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { adaptCommands, findCommandName, formatCommandLine } from '../../src/cli/command-line.js'
import { listErrorCodes } from '../../src/cli/hints.js'
import { runProgram } from '../../src/cli/program.js'
import { quoteShell } from '../../src/model/text.js'
import { createTestDependencies, createTestIo, runReport, summaryLines } from './support.js'

const startWith = (script: string): void => {
  vi.spyOn(process, 'argv', 'get').mockReturnValue(['node', script])
  onTestFinished(() => void vi.restoreAllMocks())
}

/** This repository, as a project that has installed the command. */
const PROJECT = process.cwd()
/** The command of a checkout, started from its folder, as `npm start` does. */
const CHECKOUT = join(process.cwd(), 'dist/bundle/cli/scripstream.cjs')
const TYPED = 'node dist/bundle/cli/scripstream.cjs'

describe('the name of the command', () => {
  it.each([
    [
      'a checkout, from its folder',
      '/home/me/clone/dist/bundle/cli/scripstream.cjs',
      '/home/me/clone',
      TYPED,
    ],
    [
      'a checkout, from a folder in it',
      '/c/dist/bundle/cli/scripstream.cjs',
      '/c/dist',
      'node bundle/cli/scripstream.cjs',
    ],
    [
      'a checkout, from elsewhere',
      '/c/dist/bundle/cli/scripstream.cjs',
      '/srv',
      'node /c/dist/bundle/cli/scripstream.cjs',
    ],
    ['a checkout with a blank in its path', '/my c/scripstream.cjs', '/srv', "node '/my c/scripstream.cjs'"],
    ['npx', '/home/me/.npm/_npx/1a2b/node_modules/.bin/scripstream', '/srv', 'npx scripstream'],
    ['a project that has installed it', '/app/node_modules/.bin/scripstream', '/app', 'npx scripstream'],
    [
      'the same, from a folder in it',
      '/app/node_modules/scripstream/dist/bundle/cli/scripstream.cjs',
      '/app/data',
      'npx scripstream',
    ],
    ['a global installation', '/usr/local/bin/scripstream', '/srv', 'scripstream'],
    [
      'a global installation, by its file',
      '/usr/lib/node_modules/scripstream/dist/bundle/cli/scripstream.cjs',
      '/srv',
      'scripstream',
    ],
    [
      'a project that has installed it, from elsewhere',
      join(PROJECT, 'node_modules/.bin/scripstream'),
      '/',
      `node ${quoteShell(join(PROJECT, 'node_modules/.bin/scripstream'))}`,
    ],
    ['another program that embeds it', '/app/server.js', '/app', 'scripstream'],
  ])('is what works there: %s', (_, script, folder, expected) =>
    expect(findCommandName(script, folder)).toBe(expected),
  )
})

describe('commands in texts', () => {
  it('are those of a checkout where it was started', () => {
    startWith(CHECKOUT)
    expect(formatCommandLine(['run', '--out', './my data'])).toBe(`${TYPED} run --out './my data'`)
    expect(adaptCommands('settings for real data: scripstream init')).toBe(
      `settings for real data: ${TYPED} init`,
    )
    expect(adaptCommands('"scripstream query" lists them (scripstream query)')).toBe(
      `"${TYPED} query" lists them (${TYPED} query)`,
    )
    expect(adaptCommands('scripstream run && scripstream verify')).toBe(`${TYPED} run && ${TYPED} verify`)
    expect(adaptCommands('A=b scripstream worker')).toBe(`A=b ${TYPED} worker`)
  })

  it('have the whole path of the file where a shell or an agent starts them elsewhere', () => {
    startWith(CHECKOUT)
    expect(adaptCommands('source <(scripstream completion bash)')).toBe(
      `source <(node ${quoteShell(CHECKOUT)} completion bash)`,
    )
    expect(adaptCommands('"command": "scripstream", "args": ["mcp"]')).toBe(
      `"command": "node", "args": ["${CHECKOUT}", "mcp"]`,
    )
  })

  it('are not taken for the name of the product', () => {
    startWith(CHECKOUT)
    for (const text of [
      'install scripstream again',
      'scripstream: Partial.',
      'scripstream.config.json',
      'a version of scripstream',
    ])
      expect(adaptCommands(text)).toBe(text)
  })

  it('of all help, advice and errors can be pasted', async () => {
    const { commands } = createTestProgram()
    startWith(CHECKOUT)
    const texts = [...listErrorCodes().map(([, , hint]) => adaptCommands(hint))]
    for (const name of ['--help', ...commands]) texts.push(...(await say('help', name)))
    for (const args of [
      ['nonsense'],
      ['init', '--config', '/proc/none/c.json'],
      ['run', '--only', 'nonsense'],
      ['doctor', '--as-of', 'x'],
    ])
      texts.push(...(await say(...args)))
    const bare =
      texts.join('\n').match(/^.*(?:^ *|["(]|: |&& |\()scripstream (?:[a-z]+|--[a-z]+)\b.*$/gm) ?? []
    expect(bare).toEqual([])
    expect(texts.join('\n').split(TYPED).length).toBeGreaterThan(40)
  })
})

const createTestProgram = () => ({
  commands:
    'run stream query show serve export verify diff drift brief watch log history init doctor schedule simulate list mcp audit worker completion'.split(
      ' ',
    ),
})

const say = async (...args: readonly string[]): Promise<readonly string[]> => {
  const io = createTestIo()
  await runProgram(args, io, createTestDependencies())
  return [io.out.text(), io.err.text()]
}

describe('the end of the first complete run of a folder', () => {
  it('names the next step, with the folder', () => {
    startWith(CHECKOUT)
    const args = ['run', '--simulate', '--out', './demo-data']
    expect(summaryLines(runReport(), { args, isFirst: true }).at(-1)).toBe(
      `See it: ${TYPED} serve --out ./demo-data`,
    )
    expect(summaryLines(runReport(), { args, isFirst: false }).at(-1)).toMatch(/^Complete: /)
  })
})
