import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { CollectError } from '../../src/model/errors.js'
import { type Golden, goldenAnswers } from './golden.js'
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

const golden = await goldenAnswers()

type Kind = 'JSON' | 'table' | 'page' | 'wrapped JSON'
const kindOf = ({ endpoint: { name, type } }: Golden): Kind =>
  type === 'text/csv' ? 'table' : type === 'text/html' ? 'page' : name === 'sheet' ? 'wrapped JSON' : 'JSON'

const payloads: Readonly<Record<Kind, fc.Arbitrary<string>>> = {
  JSON: jsonPayload,
  table: tablePayload,
  page: pagePayload,
  'wrapped JSON': wrappedPayload,
}

/** Decodes a payload once; rethrows everything except known errors. */
const read = ({ endpoint, input }: Golden, text: string): boolean => {
  try {
    JSON.stringify(endpoint.read(text, input))
    return true
  } catch (error) {
    if (error instanceof CollectError) return false
    throw new Error(`${endpoint.name} threw`, { cause: error })
  }
}

const unhandled: unknown[] = []
const note = (reason: unknown): void => void unhandled.push(reason)
process.on('unhandledRejection', note)
afterAll(() => void process.off('unhandledRejection', note))

describe.each(Object.keys(payloads) as Kind[])('a payload in place of a %s', (kind) => {
  const readers = golden.filter((one) => kindOf(one) === kind)
  const bodies = readers.filter(({ text }) => text.length < 3_000)

  it(`is decoded or rejected with a known error, ${runs} times`, async () => {
    const seen = { answers: 0, failures: 0 }
    const checkAnswer = (one: Golden, text: string): void => {
      if (read(one, text)) seen.answers += 1
      else seen.failures += 1
      if ('polluted' in {}) throw new Error(`a prototype was polluted through ${one.endpoint.name}`)
    }
    const reader = fc.constantFrom(...readers)
    fc.assert(
      fc.property(reader, payloads[kind], (one, text) => checkAnswer(one, text)),
      { numRuns: runs / 2, seed },
    )
    fc.assert(
      fc.property(fc.constantFrom(...bodies), changes, (one, changed) =>
        checkAnswer(one, mutated(one.text, changed)),
      ),
      { numRuns: runs / 2, seed },
    )
    expect(seen.answers).toBeGreaterThan(runs / 100)
    expect(seen.failures).toBeGreaterThan(runs / 10)
    await new Promise((resolve) => setImmediate(resolve))
    expect(unhandled).toEqual([])
  })
})
