import { describe, expect, it } from 'vitest'
import { findUnitChange } from '../../src/market/list-rules.js'
import { type Answer, arrayOf, type Collecting, collect, stockNamed, withFile } from './support.js'
import { byPath, pagePath, webPage } from './web-support.js'

const FIGURES = 'master_data_response.json'
const MAP = 'master_isin_map.json'

interface Times {
  readonly Mcap?: number
  readonly Pe?: number
  readonly volume?: number
}

/** A master list whose figures are multiplied. */
const listOf = (count: number, { Mcap = 1, Pe = 1, volume = 1 }: Times = {}) =>
  Array.from({ length: count }, (_, place) => ({
    ...stockNamed(`S${place}`, place),
    Mcap: (place + 1) * 1_000 * Mcap,
    Pe: (place + 5) * Pe,
    volume: (place + 1) * 100_000 * volume,
  }))

const masterOf = (master: readonly object[], more: Partial<Collecting> = {}) =>
  collect({ stream: 'master-data', answer: () => 404, master, ...more })

describe('figures of the master list', () => {
  it.each<Times>([
    { Mcap: 0.01 },
    { Mcap: 100 },
    { Mcap: 0.49 },
    { Pe: 2.1 },
    { Pe: 0.4 },
    { volume: 1e-3 },
    { volume: 1e5 },
  ])('have another unit if half of the stocks have %o times the stored ones', (times) => {
    expect(findUnitChange(listOf(20), listOf(20, times))).toMatch(
      /^the (market cap|P\/E|volume) of 20 stocks is [\d.e+-]+ times the stored one/,
    )
    expect(findUnitChange(listOf(19), listOf(19, times))).toBeUndefined()
    expect(
      findUnitChange(listOf(40), [...listOf(40, times).slice(0, 15), ...listOf(40).slice(15)]),
    ).toBeUndefined()
  })

  it.each<Times>([{ Mcap: 0.6 }, { Mcap: 1.9 }, { Pe: 0.6 }, { volume: 0.003 }, { volume: 300 }])(
    'may be %o times the stored ones: a crash, a long pause, or the first minutes of a session',
    (times) => expect(findUnitChange(listOf(40), listOf(40, times))).toBeUndefined(),
  )

  it('count only where both lists have a positive number', () => {
    const empty = listOf(40).map((row, place) => ({ ...row, Pe: [null, 0, -3, '7'][place % 4] }))
    expect(findUnitChange(empty, listOf(40, { Pe: 100 }))).toBeUndefined()
    expect(findUnitChange(listOf(40, { Pe: 100 }), empty)).toBeUndefined()
  })
})

describe('a master list with another unit', () => {
  it('is not stored, and the run goes on with the stored one as partial, unless that is accepted', async () => {
    const { files } = await masterOf(listOf(60))
    const [figures, map] = [files.get(FIGURES)?.text, files.get(MAP)?.text]
    const wrong = listOf(61, { Mcap: 0.01 })

    const asked: unknown[] = []
    const answer: Answer = ({ body }) => {
      asked.push(body)
      return { data: [] }
    }
    const { report } = await masterOf(wrong, { files, only: ['new-announcements'], answer })
    expect(asked).toHaveLength(60)
    expect(report.outcome).toBe('partial')
    expect(report.scripts['master-data']).toMatchObject({ outcome: 'partial', degraded: 1 })
    const reason =
      'units: the market cap of 60 stocks is 0.01 times the stored one (median); the stored list is used'
    expect(report.scripts['master-data']?.problems).toContainEqual({
      item: 'all',
      status: 'success',
      code: 'units',
      reason,
    })
    expect([files.get(FIGURES)?.text, files.get(MAP)?.text]).toEqual([figures, map])

    const accepted = await masterOf(wrong, { files, accept: ['units'] })
    expect(accepted.report).toMatchObject({ outcome: 'complete', stocks: 61 })
    expect(accepted.script.problems[0]?.reason).toMatch(/^accepted although the market cap of 60 stocks/)
    expect(accepted.text(FIGURES)).toBe(arrayOf(...wrong))
  })

  it('is not compared with a damaged file, nor with none', async () => {
    const { files } = await masterOf(listOf(60))
    files.set(FIGURES, { text: '[{', asOf: 0 })
    expect((await masterOf(listOf(60, { Mcap: 0.01 }), { files })).report.outcome).toBe('complete')
  })
})

describe('a circuit list with another unit than the master list', () => {
  const SCAN = '/analytics/customscan/fetchdt'
  const rowsOf = (count: number, times: Times = {}) =>
    listOf(count, times).map(({ volume: Volume, ...row }) => ({
      ...row,
      Volume: Volume * 1e6,
      Ltp: 1,
      PPerchange: 5,
      High5yr: 1,
      High1Yr: 1,
      Low1Yr: 1,
    }))
  const circuits = (answers: Readonly<Record<string, unknown>>, more: Partial<Collecting> = {}) =>
    collect({
      stream: 'circuit-stocks',
      answer: byPath(answers),
      settings: { retries: 0 },
      files: stored(),
      ...more,
    })
  const stored = () => withFile(FIGURES, arrayOf(...listOf(60)))
  const scan = { [SCAN]: { data: rowsOf(30, { Mcap: 1e7 }) } }

  it('is taken from the next source', async () => {
    const page = Object.fromEntries(
      ['stocks/market/shares-with-upper-circuit', 'stocks/market/lower-circuit-stocks'].map((key) => [
        pagePath(key),
        webPage(rowsOf(30)),
      ]),
    )
    const { script, text } = await circuits({ ...scan, ...page })
    expect(script).toMatchObject({ outcome: 'success', items: { success: 2 } })
    expect(JSON.parse(text('upper_circuit_stocks.json') ?? '')[0]).toMatchObject({
      Symbol: 'S0',
      MarketCap: 1_000,
    })
    expect(script.problems[0]?.reason).toMatch(
      /a source failed: scan: units: the market cap of 30 stocks is 10000000 times the stored one/,
    )
  })

  it('leaves the stored file if no source has the unit, unless that is accepted', async () => {
    const { files } = await circuits({ [SCAN]: { data: rowsOf(30) } })
    const before = files.get('upper_circuit_stocks.json')
    const refused = await circuits(scan, { files })
    expect(refused.script).toMatchObject({ outcome: 'failed', code: 'units' })
    expect(files.get('upper_circuit_stocks.json')).toEqual(before)
    expect((await circuits(scan, { files, accept: ['units'] })).script.outcome).toBe('success')
    expect(files.get('upper_circuit_stocks.json')).not.toEqual(before)
  })
})
