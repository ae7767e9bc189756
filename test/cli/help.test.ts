import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commands } from '../../src/cli/index.js'
import { createProgram, runProgram } from '../../src/cli/program.js'
import { createCollector } from '../../src/collector.js'
import { streams } from '../../streams/registry.js'
import { createTestDependencies, createTestIo } from './support.js'

const dependencies = createTestDependencies(undefined, { streams, createCollector })
/** The real program; its commands do nothing. */
const dry = (args: readonly string[]) =>
  createProgram(commands, {
    args,
    io: createTestIo({ now: Date.parse('2026-02-13T00:00:00Z') }),
    dependencies,
    act: () => Promise.resolve(),
  })
const names = dry([]).commands.map((command) => command.name())

const helpOf = async (...args: readonly string[]): Promise<string> => {
  const io = createTestIo()
  await runProgram([...args, '--help'], io, dependencies)
  return io.out.text()
}

const examplesIn = (help: string): readonly string[] =>
  [...(help.split('\nExamples:\n')[1] ?? '').matchAll(/^ {2}(\S.*)$/gm)]
    .map(([, example = '']) => example)
    .filter((line) => line.includes('scripstream '))

/** The arguments of the last `scripstream` in a line of a shell. */
const argsIn = (line: string): readonly string[] => {
  const call =
    /\bscripstream ((?:'[^']*'|"[^"]*"|[^|>;&)'"#])*)/.exec(
      line.slice(Math.max(0, line.search(/\bscripstream [a-z-]/))),
    )?.[1] ?? ''
  return [...call.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare ?? '',
  )
}

const home = process.cwd()
const folder = mkdtempSync(join(tmpdir(), 'scripstream-'))
beforeAll(() => {
  // A file that the examples name.
  writeFileSync(join(folder, 'watchlist.txt'), 'INFY\n')
  process.chdir(folder)
})
afterAll(() => {
  process.chdir(home)
  rmSync(folder, { recursive: true })
})

describe('the help', () => {
  test('names every command', async () => {
    const help = await helpOf()
    expect(names.length).toBeGreaterThan(4)
    for (const name of names) expect(help).toMatch(new RegExp(`^  ${name} `, 'm'))
  })

  test('groups the commands by what they are for', async () => {
    const groups = (await helpOf())
      .split('\n\n')
      .map((part) => part.split('\n').map((line) => line.trim().split(' ')[0]))
    expect(groups.filter(([title = '']) => title in commands).map(([title]) => title)).toEqual(
      Object.keys(commands),
    )
    expect(groups).toContainEqual(['Check:', 'verify', 'history'])
  })

  test.each([[], ...names.map((name) => [name])])(
    'of %s has a description and examples, within 80 columns',
    async (...args) => {
      const help = await helpOf(...args)
      expect(help).toMatch(/^Usage: .*\n\n\S.{10}/)
      expect(examplesIn(help).length).toBeGreaterThan(0)
      // Examples are copied, so they are not wrapped.
      expect(help.split('\n').filter((line) => line.length > 80 && !line.includes('scripstream '))).toEqual(
        [],
      )
    },
  )

  test.each([[], ...names.map((name) => [name])])(
    'of %s fits 40 lines, that of all commands 50',
    async (...args) => {
      expect((await helpOf(...args)).trimEnd().split('\n').length).toBeLessThanOrEqual(
        args.length === 0 ? 50 : 40,
      )
    },
  )

  test.each([
    ['settings', '  out  (SCRIPSTREAM_OUT)\n      output folder; default ./data\n'],
    ['settings', '  --metrics-file <file>\n'],
    ['exit-codes', '  3              finished, but something is missing, or answers have changed\n'],
    ['checks', '  large-moves\n'],
  ])('of the topic %s has %j', async (topic, text) => {
    const io = createTestIo()
    expect([await runProgram(['help', topic], io, dependencies), io.err.text()]).toEqual([0, ''])
    expect(io.out.text()).toContain(text)
  })

  test('of a run has at most 20 flags', async () => {
    expect((await helpOf('run')).match(/^ {2}-/gm)?.length).toBeLessThanOrEqual(20)
  })

  test.each([[], ...names.map((name) => [name])])('of %s has examples that can be typed', async (...args) => {
    for (const example of examplesIn(await helpOf(...args))) {
      const typed = argsIn(example)
      if (typed.includes('--help') || typed[0] === 'help') continue
      await expect(dry(typed).parseAsync([...typed], { from: 'user' }), example).resolves.toBeDefined()
    }
  })

  test('would fail for an example with an unknown option', async () => {
    const typed = argsIn('scripstream run --gone | less')
    expect(typed).toEqual(['run', '--gone'])
    await expect(dry(typed).parseAsync([...typed], { from: 'user' })).rejects.toThrow()
  })
})

describe('the source of a command', () => {
  test.each(names)('is one file, or a folder with its flags in command.ts: %s', (name) => {
    const folder = join(import.meta.dirname, '../../src/cli')
    const places = [`${name}.ts`, `${name}/command.ts`].filter((file) => existsSync(join(folder, file)))
    expect(places).toHaveLength(1)
    expect(readFileSync(join(folder, places[0] ?? ''), 'utf8')).toMatch(
      new RegExp(`(name: |\\.command\\()'${name}'`),
    )
  })
})
