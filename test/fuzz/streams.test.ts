import { posix } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MASTER } from '../../src/engine/define-stream.js'
import { streams } from '../../streams/registry.js'
import { ALPHA, BETA, collect, jsonOf, stockNamed } from '../streams/support.js'
import { goldenAnswers } from './golden.js'
import {
  changes,
  jsonPayload,
  mutated,
  pagePayload,
  runs,
  seed,
  tablePayload,
  wrappedPayload,
} from './payloads.js'

const RUNS = Math.ceil(runs / 400)

const golden = await goldenAnswers()

/** Stocks with hostile names. */
const hostile = ['../../x', 'CON', 'a\0b', '__proto__', '=1+1', '\u001b[2J', 'con', '\ud800'].map(
  (symbol, place) => stockNamed(symbol, place + 9),
)

const isInside = (file: string): boolean =>
  !file.startsWith('/') && posix.normalize(file) === file && !/(^|\/)\.\.(\/|$)|[\\:\0]/.test(file)

/** Answers every request with the next payload. */
const payloads = fc.array(
  fc.oneof(
    jsonPayload,
    tablePayload,
    pagePayload,
    wrappedPayload,
    {
      weight: 8,
      arbitrary: fc
        .tuple(fc.constantFrom(...golden), changes)
        .map(([{ text }, changed]) => mutated(text, changed)),
    },
    { weight: 4, arbitrary: fc.constantFrom(...golden).map(({ text }) => text) },
  ),
  { minLength: 1, maxLength: 6 },
)

describe.each(streams.map(({ name }) => name))('%s', (stream) => {
  it('reports every item and writes only its own files, whatever the answers are', async () => {
    const own = golden.filter(({ endpoint }) =>
      streams.find(({ name }) => name === stream)?.endpoints.includes(endpoint),
    )
    const answers = fc.tuple(
      payloads,
      fc.array(fc.tuple(fc.constantFrom(...own), changes), { minLength: 1, maxLength: 6 }),
    )
    await fc.assert(
      fc.asyncProperty(answers, async ([any, changed]) => {
        const bodies = [...any, ...changed.map(([{ text }, change]) => mutated(text, change))]
        let turn = 0
        const { report, script, files } = await collect({
          stream,
          master: stream === MASTER ? masterFrom(bodies[0] ?? '') : [ALPHA, BETA, ...hostile],
          answer: () => {
            turn += 1
            return bodies[turn % bodies.length]
          },
          settings: { retries: 0 },
        })
        expect(['complete', 'partial', 'failed']).toContain(report.outcome)
        expect(['success', 'partial', 'failed']).toContain(script.outcome)
        for (const [file, { text }] of files) {
          expect(isInside(file), file).toBe(true)
          if (file.endsWith('.json')) JSON.parse(text)
        }
        expect('polluted' in {}).toBe(false)
      }),
      { numRuns: RUNS, seed },
    )
  })
})

/** Rows for a master list: those of a payload, or a list that contains it in the middle. */
const masterFrom = (body: string): readonly object[] => {
  try {
    const { data } = jsonOf(body) as { readonly data: unknown }
    return Array.isArray(data) ? data : [ALPHA, { ...ALPHA, Sym: data, Isin: data, FnoFlag: data, Sid: data }]
  } catch {
    return [ALPHA, { ...BETA, Sym: body }]
  }
}
