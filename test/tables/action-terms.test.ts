import { describe, expect, it } from 'vitest'
import { readAmount, readTerms, termsSql } from '../../src/market/action-terms.js'
import { createRandom } from '../../src/simulator/random.js'
import { openDuckDb, quoteText } from '../../src/storage/duckdb.js'
import { duckdb } from './support.js'

const WORDS: readonly [string, ...string[]] = [
  '\u20b9',
  ...[
    'split',
    'SUB-DIVISION',
    'consolidation',
    'reverse split',
    'bonus',
    'NCRPS',
    'rights',
    'de-merger',
    'spin off',
  ],
  ...[
    'capital reduction',
    'amalgamation',
    'scheme of arrangement',
    'board meeting',
    'to consider',
    'FV SPLT',
    'INTDIV',
    'FY26',
    'on Rs',
    '50p',
    'buy back',
    'interest',
    'return of capital',
    'interim dividend',
    'face value of',
    'per share',
    'from',
    'to',
  ],
  ...[
    'Rs',
    'Rs.',
    'Re.',
    '\u20b9',
    'paise',
    '%',
    '/-',
    ':',
    '.',
    ',',
    '-',
    ' ',
    '\n',
    '1',
    '10',
    '2.5',
    '.5',
    '1,000.00',
    '0',
    '250',
  ],
]

describe.skipIf(!duckdb)('the terms of a corporate action in SQL', () => {
  it('are those that JavaScript reads, whatever the text', async () => {
    const random = createRandom(48, 'terms')
    const drawText = (): string =>
      Array.from({ length: random.int(0, 6) }, () => random.pick(WORDS) + random.pick(['', ' '])).join('')
    const texts = Array.from({ length: 2000 }, () => [drawText(), drawText()] as const)
    const { connection, close } = await openDuckDb()
    const values = texts.map((pair, place) => `(${place}, ${pair.map(quoteText).join(', ')})`).join(', ')
    const reader = await connection.runAndReadAll(`
      SELECT kind, ${termsSql.factors('kind', 'text')}, ${termsSql.amount('note')}, ${termsSql.amount('text')}, ${termsSql.percent('text')},
        ${termsSql.isInterest('type', 'note')}, if(${termsSql.isBeside('kind', 'type', 'note')}, ${termsSql.beside('kind', 'type', 'note')}, -1)
      FROM (SELECT *, ${termsSql.kind('type', 'note')} AS kind, ${termsSql.text('type', 'note')} AS text FROM (VALUES ${values}) AS t (place, type, note)) ORDER BY place`)
    const rows = reader.getRowsJS() as unknown as (readonly [
      string | null,
      number[],
      number | null,
      number | null,
      number | null,
      boolean,
      number | null,
    ])[]
    close()
    texts.forEach(([type, note], place) => {
      const terms = readTerms(type, note)
      const [kind, factors, amount, dividend, percent, isInterest, beside] = rows[place] ?? []
      const isDividend = terms?.kind === 'dividend'
      expect({ type, note, kind, factors, amount }).toEqual({
        ...{
          type,
          note,
          kind: terms?.kind ?? null,
          factors: terms?.factors ?? [],
          amount: readAmount(note) ?? null,
        },
      })
      if (terms && !isDividend)
        expect([type, note, terms.beside]).toEqual([type, note, beside === -1 ? undefined : beside])
      if (isDividend)
        expect([type, note, dividend, dividend === null && !isInterest ? percent : null]).toEqual([
          type,
          note,
          terms.amount ?? null,
          terms.percent ?? null,
        ])
    })
  })
})
