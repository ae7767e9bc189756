import fc from 'fast-check'
import { of, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import { runProgram } from '../../src/cli/program.js'
import type { Transport } from '../../src/http/transport.js'
import { StorageError, TransportError } from '../../src/model/errors.js'
import { escapeUnprintable, formatJson } from '../../src/model/text.js'
import { streams } from '../../streams/registry.js'
import { EVENING, SETTINGS } from '../streams/support.js'
import { createQuickCollector } from '../support/limits.js'
import { createTestDependencies, createTestIo } from './support.js'

// What a terminal, a log viewer or a pager might act upon; the line end is ours.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const UNSAFE = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: what the progress display moves its cursor with
const OWN_MOVES = /\x1b\[(?:\?25[lh]|K|0?J|\d+[AG])/g

const part = fc.constantFrom(
  '\x1b', '\x1b[2J', '\x1b[31m', '\x1b]0;evil\x07', '\x1b]8;;http://x\x1b\\', '\x9b31m', '\x90', '\x85', '\x07', '\b', '\r', '\n', '\t', '\0', '\x7f',
  '\u2028', '\u2029', '\u202e', '\u2066', '\u200f', '\ufeff', '\ud800', 'a', ' ', '"', '\\', '[K', '<', '-', '=',
) // biome-ignore format: a list of words
const hostile = fc.array(part, { minLength: 1, maxLength: 12 }).map((parts) => parts.join(''))

interface Said {
  readonly symbol: string
  readonly says: string
  /** The failure of every request but the master list; `one` fails only the first stock. */
  readonly failure: 'one' | 'message' | 'page' | 'body' | 'transport' | 'storage'
}

const texts = fc.record({
  symbol: hostile,
  says: hostile,
  failure: fc.constantFrom<Said['failure'][]>('one', 'message', 'page', 'body', 'transport', 'storage'),
})

const transportThat = ({ symbol, says, failure }: Said): Transport => {
  const reply = (body: string) => of({ status: 200, body: Buffer.from(body) })
  return ({ body }) => {
    if (body?.includes('"Isin"'))
      return reply(
        JSON.stringify({ data: [{ Sym: `S${symbol}`, Isin: 'INE000000001' }, { Sym: 'B', Isin: says }, {}] }),
      )
    if (failure === 'one' && !body?.includes('INE000000001')) return reply('{"data":[]}')
    if (failure === 'transport' || failure === 'one')
      return throwError(() => new TransportError('reset', says))
    if (failure === 'storage') return throwError(() => new StorageError(`${says}\n${says}`))
    if (failure === 'page') return reply(`<html>${says}`)
    return reply(failure === 'body' ? says : JSON.stringify({ success: false, message: says }))
  }
}

const run = async (args: readonly string[], what: Said, columns?: number) => {
  const files: MemoryFiles = new Map()
  const io = createTestIo({ err: columns === undefined ? {} : { columns }, env: {} })
  const dependencies = createTestDependencies(undefined, {
    streams,
    storage: () => memory(files),
    createCollector: (options) =>
      createQuickCollector({
        ...options,
        settings: { ...SETTINGS, retries: 0, downMs: 0 },
        storage: memory(files),
        transport: transportThat(what),
        clock: () => EVENING,
        random: () => 0.5,
      }),
  })
  await runProgram(['run', ...args], io, dependencies)
  return { out: io.out.text(), err: io.err.text(), report: files.get('.scripstream/report.json')?.text ?? '' }
}

describe('hostile names and failure texts of a provider', () => {
  it.each([
    { args: ['--progress', 'lines'] },
    { args: ['--progress', 'bars'], columns: 200 },
    { args: ['--progress', 'none', '--log-level', 'trace'] },
    { args: ['--progress', 'lines', '--json', '--log-level', 'warn'] },
  ])('print and store no control character: $args', async ({ args, columns }) => {
    await fc.assert(
      fc.asyncProperty(texts, async (what) => {
        const { out, err, report } = await run(args, what, columns)
        expect(UNSAFE.exec(out)?.[0]).toBeUndefined()
        expect(UNSAFE.exec(err.replace(OWN_MOVES, ''))?.[0]).toBeUndefined()
        expect(UNSAFE.exec(report)?.[0]).toBeUndefined()
        expect(out.length + err.length).toBeGreaterThan(100)
        if (args.includes('--json')) expect(formatJson(JSON.parse(out), 2)).toBe(out.trimEnd())
        if (args.includes('--log-level'))
          for (const line of err.split('\n').filter((text) => text.startsWith('{'))) JSON.parse(line)
      }),
      { numRuns: 60, seed: 7 },
    )
  })

  it('become reasons that are short and on one line', async () => {
    await fc.assert(
      fc.asyncProperty(texts, fc.nat(400), async (what, times) => {
        const { out } = await run(['--progress', 'none', '--json'], {
          ...what,
          says: what.says + 'x'.repeat(times),
          failure: 'message',
        })
        const { scripts } = JSON.parse(out) as {
          readonly scripts: Record<string, { readonly problems: readonly { readonly reason: string }[] }>
        }
        const reasons = Object.values(scripts).flatMap(({ problems }) => problems.map(({ reason }) => reason))
        for (const reason of reasons.filter((text) => text.startsWith('schema:'))) {
          expect(reason).not.toMatch(/[\r\n]/)
          expect(reason.length).toBeLessThanOrEqual(300)
        }
      }),
      { numRuns: 30, seed: 7 },
    )
  })
})

describe('printed JSON', () => {
  it('keeps its content, without characters that a terminal or an editor interprets', () => {
    fc.assert(
      fc.property(fc.oneof(hostile, fc.string({ unit: 'binary' })), (text) => {
        const document = { [text]: [text] }
        expect(JSON.parse(formatJson(document))).toEqual(document)
        expect(JSON.parse(formatJson(document, 2))).toEqual(document)
        expect(UNSAFE.test(formatJson(document))).toBe(false)
        expect(escapeUnprintable(formatJson(document))).toBe(formatJson(document))
      }),
      { numRuns: 1_000, seed: 7 },
    )
  })
})
