import { of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { HttpReply } from '../../src/http/transport.js'
import { BadAnswerError } from '../../src/model/errors.js'
import { streams } from '../../streams/registry.js'
import { askFreely, limitersOf, settingsOf } from '../http/support.js'
import { SETTINGS } from '../streams/support.js'
import { type Golden, goldenAnswers } from './golden.js'

const given = { ...SETTINGS, retries: 0, backoffMs: 0, throttleMs: 0, downMs: 0 }

/** The result of a request with an immediate reply: the answer or the error. */
const outcomeOf = (
  { endpoint, input }: Golden,
  reply: Partial<HttpReply>,
): { readonly answer?: unknown; readonly error?: unknown } => {
  const transport = () => of({ status: 200, body: Buffer.alloc(0), ...reply })
  const ask = askFreely({
    transport,
    settings: settingsOf(given),
    limiters: limitersOf(given),
    timeoutMs: 1_000,
    random: () => 0,
    clock: () => 0,
    onRequestEvent: () => undefined,
  })
  let outcome = {}
  ask(endpoint, input).subscribe({
    next: (answer) => {
      outcome = { answer }
    },
    error: (error: unknown) => {
      outcome = { error }
    },
  })
  return outcome
}

const golden = await goldenAnswers()
const isTable = ({ endpoint: { type } }: Golden): boolean => type === 'text/csv'
const named = (list: readonly Golden[]) =>
  list.map((one, place) => [`${one.endpoint.name} ${place} (${one.text.length})`, one] as const)

it('every endpoint of every stream has an answer to truncate', () => {
  const covered = new Set(golden.map(({ endpoint }) => endpoint))
  for (const { endpoints } of streams)
    for (const endpoint of endpoints) expect(covered.has(endpoint), endpoint.name).toBe(true)
})

describe.each(named(golden.filter((one) => !isTable(one))))('an answer without a length: %s', (_, one) => {
  it('truncated at any byte is rejected or equals the whole answer', () => {
    const body = Buffer.from(one.text)
    const whole = JSON.stringify(outcomeOf(one, { body }).answer)
    expect(whole).toBeDefined()
    let refused = 0
    for (let length = 0; length < body.length; length += 1) {
      const { answer, error } = outcomeOf(one, { body: body.subarray(0, length), isUnframed: true })
      if (error instanceof BadAnswerError) refused += 1
      else expect(JSON.stringify(answer), `${length} of ${body.length} bytes`).toBe(whole)
    }
    expect(refused).toBeGreaterThan(body.length / 4)
    expect(JSON.stringify(outcomeOf(one, { body, isUnframed: true }).answer)).toBe(whole)
  })
})

// A table that the provider itself truncated at a line end looks complete to any reader, even with a matching
// length. Lists that are tables are protected by the shrink check: test/streams/shrinking.test.ts.
describe.each(named(golden.filter(isTable)))('a table: %s', (_, one) => {
  it('is rejected at any length, also complete, if it has no length', () => {
    const body = Buffer.from(one.text)
    for (let length = 0; length <= body.length; length += 1) {
      const { error } = outcomeOf(one, { body: body.subarray(0, length), isUnframed: true })
      expect(error, `${length} bytes`).toMatchObject({ reason: length === 0 ? 'empty' : 'truncated' })
    }
    expect(outcomeOf(one, { body }).answer).toBeDefined()
  })

  it('truncated, has no extra or changed cell, except in the last line', () => {
    const rowsOf = (text: string): readonly unknown[] | undefined =>
      outcomeOf(one, { body: Buffer.from(text) }).answer as readonly unknown[] | undefined
    const whole = rowsOf(one.text) ?? []
    for (let length = 0; length < one.text.length; length += 1) {
      const rows = rowsOf(one.text.slice(0, length)) ?? []
      expect(rows.length).toBeLessThanOrEqual(whole.length)
      expect(rows.slice(0, -1)).toEqual(whole.slice(0, Math.max(0, rows.length - 1)))
    }
  })
})
