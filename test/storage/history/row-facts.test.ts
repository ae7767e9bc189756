import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { RunReport } from '../../../src/model/report.js'
import { addDays, toInstant } from '../../../src/model/trading-day.js'
import { listBases } from '../../../src/storage/history/bases.js'
import { readRecordedDay } from '../../../src/storage/history/history-folder.js'
import { recordDay } from '../../../src/storage/history/record-day.js'
import { createFactReader, type RowFacts } from '../../../src/storage/history/row-facts.js'
import { runReport } from '../../cli/support.js'
import { temporaryFolder } from '../../support/folders.js'

const FILE = { stream: 'prices', file: 'prices.json', isPerItem: true }

const record = async (root: string, day: string, rows: readonly object[]): Promise<void> => {
  writeFileSync(join(root, FILE.file), rows.length === 0 ? '[]\n' : `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`)
  const report = { ...runReport({}), scripts: { prices: { outcome: 'success' } } } as unknown as RunReport
  const run = { run: day, asOf: toInstant(day, '20:00'), configuration: 'c' }
  await recordDay(root, { history: { files: [FILE], documents: [] }, record: run, report, isPartOfEnded: false })
}

/** The values of a row with their paths, as texts. */
const createTexts = (): { readonly kind: RowFacts; readonly textOf: (fact: number) => string } => {
  const rows: { readonly paths: readonly (string | undefined)[]; readonly parts: readonly string[] }[] = []
  return {
    kind: {
      find: (row) => rows.push(row) - 1,
      change: (fact, values) => {
        const row = rows[fact] as (typeof rows)[number]
        return rows.push({ ...row, parts: row.parts.map((part, place) => values.get(place) ?? part) }) - 1
      },
    },
    textOf: (fact) => (rows[fact]?.paths ?? []).flatMap((path, place) => (path ? `${path}=${rows[fact]?.parts[place]}` : [])).join(' '),
  }
}

const value = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constant(null), fc.constantFrom('', '-', 'a "b"', 'x, y'))
const row = fc.record({
  Symbol: fc.constantFrom('A', 'B', 'C', 'D', 'E'),
  Price: value,
  Nested: fc.record({ Pe: value, List: fc.array(fc.record({ Ema: value }), { maxLength: 2 }) }),
})

/** A value at its path, without the numbers of lists. */
const flatten = (content: unknown, path = ''): readonly string[] => {
  if (Array.isArray(content)) return content.flatMap((one) => flatten(one, path))
  if (typeof content !== 'object' || content === null) return [`${path}=${JSON.stringify(content)}`]
  return Object.entries(content).flatMap(([key, one]) => flatten(one, path === '' ? key : `${path}.${key}`))
}

it('facts of rows that changed are those of their text, and a content is the same only if the rows are', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(row, { maxLength: 8 }), { minLength: 1, maxLength: 5 }), async (days) => {
      const root = temporaryFolder()
      const texts = createTexts()
      const reader = createFactReader(root, [texts.kind])
      const contents: string[] = []
      for (const [index, rows] of days.entries()) await record(root, addDays('2026-02-02', index), rows)
      for (const [index, rows] of days.entries()) {
        const entry = (await readRecordedDay(root, addDays('2026-02-02', index)))?.entries[FILE.file]
        if (entry === undefined) throw new Error('not recorded')
        const { content, facts } = await reader.read(entry)
        expect([...(facts[0] ?? [])].map(texts.textOf)).toEqual(rows.map((one) => flatten(one).join(' ')))
        contents.push(content)
      }
      days.forEach((one, index) => {
        days.slice(0, index).forEach((other, earlier) => {
          if (contents[index] === contents[earlier]) expect(one).toEqual(other)
        })
      })
    }),
    { numRuns: 30 },
  )
})

it('the content of a day without a change is that of the day before', async () => {
  const root = temporaryFolder()
  const rows = (price: number) => Array.from({ length: 300 }, (_, rank) => ({ Symbol: `S${rank}`, Price: price + rank }))
  for (const [index, price] of [1, 1, 2, 2, 1].entries()) await record(root, addDays('2026-02-02', index), rows(price))
  expect(await listBases(root)).not.toEqual([])
  const reader = createFactReader(root, [createTexts().kind])
  const contents: string[] = []
  for (let index = 0; index < 5; index++) {
    const entry = (await readRecordedDay(root, addDays('2026-02-02', index)))?.entries[FILE.file]
    if (entry) contents.push((await reader.read(entry)).content)
  }
  const [first, second, third, fourth, fifth] = contents
  expect([first === second, third === fourth, second === third, first === fifth]).toEqual([true, true, false, true])
})
