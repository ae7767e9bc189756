import { describe, expect, it } from 'vitest'
import type { MemoryFiles } from '../../sinks/memory.js'
import { collect, type FakeStock, stockNamed } from './support.js'

const BEFORE: FakeStock = { ...stockNamed('ALPHA', 1), Isin: 'INE149K01016' }
const SPLIT = { ...BEFORE, Isin: 'INE149K01024' }
const MERGED = { ...BEFORE, Isin: 'INE0ZZZ01018' }
const OTHER = { ...MERGED, Sid: 990 }

const DATES = [
  '2026-02-02',
  '2026-02-03',
  '2026-02-04',
  '2026-02-05',
  '2026-02-06',
  '2026-02-09',
  '2026-02-10',
]
const filings = (isin: string) =>
  DATES.map((day) => ({ isin, news_id: `${isin}${day}`, news_date: day, caption: day }))

const ELSE = stockNamed('ELSE', 2)

/**
 * Runs with a stock, and at last with another one under the symbol, which has one filing and no results; in
 * between evenings on which nobody has it.
 */
const run = async (now: FakeStock, stream: string, evenings = 0) => {
  const files: MemoryFiles = new Map()
  const answers: Readonly<Record<string, (isin: string) => readonly object[]>> = {
    'company-filings': (isin) => (isin === BEFORE.Isin ? filings(isin) : filings(isin).slice(6)),
    'fundamental-data': (isin) => (isin === BEFORE.Isin ? [{ isin, CV: { PE: '20' } }] : []),
  }
  for (const master of [[BEFORE], ...Array.from({ length: evenings }, () => [ELSE]), [now]])
    await collect({
      stream,
      master,
      answer: ({ path }) =>
        path.endsWith('/lodr') ? { data: null } : { data: answers[stream]?.(master[0]?.Isin ?? '') },
      files,
      fresh: true,
    })
  return files
}

const countOf = (files: MemoryFiles, file: string): number | undefined => {
  const text = files.get(file)?.text
  return text === undefined ? undefined : [JSON.parse(text).data ?? JSON.parse(text)].flat().length
}

describe.each([
  ['a new ISIN of the same issuer', SPLIT, true],
  ['a new issuer of the same security', MERGED, true],
  ['another company', OTHER, false],
])('under %s', (_, now, isSame) => {
  it(`the filings are ${isSame ? 'carried on' : 'those of that company alone'}`, async () => {
    const files = await run(now, 'company-filings')
    expect(countOf(files, 'company_filings/ALPHA_filings.json')).toBe(isSame ? 8 : 1)
    expect(countOf(files, `company_filings/ALPHA~${BEFORE.Isin}_filings.json`)).toBe(isSame ? undefined : 7)
  })

  it('the filings are so after evenings on which nobody had the symbol', async () => {
    const files = await run(now, 'company-filings', 2)
    expect(countOf(files, 'company_filings/ALPHA_filings.json')).toBe(isSame ? 8 : 1)
    expect(countOf(files, `company_filings/ALPHA~${BEFORE.Isin}_filings.json`)).toBe(isSame ? undefined : 7)
  })

  it(`the fundamentals are ${isSame ? 'carried on' : 'gone'}`, async () => {
    const files = await run(now, 'fundamental-data')
    expect(JSON.parse(files.get('fundamental_data.json')?.text ?? '')).toEqual(
      isSame ? [{ Symbol: 'ALPHA', ISIN: now.Isin, isin: BEFORE.Isin, CV: { PE: '20' } }] : [],
    )
  })
})

it.each([
  ['company-filings', 'company_filings/ALPHA_filings.json', [SPLIT, true]],
  ['new-announcements', 'all_company_announcements.json', [SPLIT, true]],
  ['new-announcements', 'all_company_announcements.json', [MERGED, true]],
  ['new-announcements', 'all_company_announcements.json', [OTHER, false]],
] as const)(
  'the answer of %s may name the ISIN that the stock had before, on later evenings, too',
  async (stream, file, [now, isTaken]) => {
    const files: MemoryFiles = new Map()
    for (const [place, stock] of [BEFORE, now, now].entries()) {
      const { script } = await collect({
        stream,
        master: [stock],
        answer: () => ({
          data: [
            { isin: BEFORE.Isin, date: '2026-02-10', events: 'e', news_date: '2026-02-10', caption: 'c' },
          ],
        }),
        files,
        fresh: true,
        settings: { retries: 0 },
      })
      expect([place, script.items.error]).toEqual([place, place > 0 && !isTaken ? 1 : 0])
    }
    expect(countOf(files, file)).toBe(1)
  },
)
