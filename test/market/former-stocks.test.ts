import { lastValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import {
  createOwnerFinder,
  parseFormerStocks,
  readOwners,
  settleStocks,
} from '../../src/market/former-stocks.js'
import type { Stock } from '../../src/model/stock.js'
import { type Day, toInstant } from '../../src/model/trading-day.js'

const stock = (symbol: string, isin: string, sid: string): Stock => ({
  Symbol: symbol,
  ISIN: `INE${isin}A01011`,
  Name: `${isin} Limited`,
  Sid: sid,
  FnoFlag: 0,
})
const [F, N, B] = [stock('A', '111', '1'), stock('A', '222', '2'), stock('B', '333', '3')]

/** Evenings with a master list each; the files as a run would leave them. */
const createDays = () => {
  const files: MemoryFiles = new Map()
  const storage = memory(files)
  return async (day: Day, ...now: readonly Stock[]) => {
    const asOf = toInstant(day, '20:00')
    const { moves, document, earlierIsins } = await lastValueFrom(
      settleStocks(() => now, { stored: storage.stored, asOf }),
    )
    if (document) await lastValueFrom(storage.storeDocument('former-stocks.json', document))
    await lastValueFrom(storage.storeDocument('report.json', { asOf: new Date(asOf).toISOString() }))
    files.set('master_isin_map.json', { text: JSON.stringify(now) })
    const former = parseFormerStocks(
      JSON.parse(files.get('.scripstream/former-stocks.json')?.text ?? '[]') as unknown,
    )
    return {
      moves: moves.map((move) => move.join(' > ')),
      isins: [...earlierIsins].map(([isin, earlier]) => `${isin} < ${earlier.join()}`),
      former: former.map((one) => `${one.stock.Symbol} ${one.stock.ISIN} ${one.until}`),
      find: createOwnerFinder(now, former).findSymbol,
    }
  }
}

describe('the stocks that left the master list', () => {
  it('are known after evenings without them, with the last day on which they were listed', async () => {
    const settle = createDays()
    expect(await settle('2026-02-02', F, B)).toMatchObject({ former: [], moves: [] })
    const left = [`A ${F.ISIN} 2026-02-02`]
    expect(await settle('2026-02-03', B)).toMatchObject({ former: left, moves: [] })
    expect(await settle('2026-02-04', B)).toMatchObject({ former: left, moves: [] })
    const { moves, former, find } = await settle('2026-02-05', B, N)
    expect(moves).toEqual([`A > A~${F.ISIN}`, `A~${N.ISIN} > A`])
    expect(former).toEqual(left)
    expect([
      find('A', '2026-02-02'),
      find('A', '2026-02-03'),
      find('A', '2026-02-05', { name: F.Name }),
    ]).toEqual([`A~${F.ISIN}`, 'A', `A~${F.ISIN}`])
    expect((await settle('2026-02-06', B, N)).moves).toEqual([])
  })

  it('are themselves when they are back, also with a new ISIN of their issuer', async () => {
    const settle = createDays()
    await settle('2026-02-02', F, B)
    await settle('2026-02-03', B)
    const split = { ...F, ISIN: 'INE111A01029', Sid: '9' }
    const isins = [`${split.ISIN} < ${F.ISIN}`]
    expect(await settle('2026-02-04', B, split)).toMatchObject({ moves: [], isins })
    // On later evenings, too.
    const { isins: later, find } = await settle('2026-02-05', B, split)
    expect([later, find('A', '2026-02-02')]).toEqual([isins, 'A'])
  })

  it('are themselves after a new ISIN and a new symbol, and after several of each', async () => {
    const settle = createDays()
    const [split, again] = ['INE111A01029', 'INE111A01037'].map((ISIN) => ({ ...F, ISIN, Sid: ISIN }))
    await settle('2026-02-02', F, B)
    await settle('2026-02-03', { ...F, ...split }, B)
    const { isins, find } = await settle('2026-02-04', { ...F, ...split, Symbol: 'C' }, B)
    expect([isins, find('A', '2026-02-02'), find('A', '2026-02-03')]).toEqual([
      [`${split?.ISIN} < ${F.ISIN}`],
      'C',
      'C',
    ])
    await settle('2026-02-05', { ...F, ...again, Symbol: 'C' }, B)
    const late = await settle('2026-02-06', { ...F, ...again, Symbol: 'D' }, B)
    expect(late.isins).toEqual([`${again?.ISIN} < ${F.ISIN},${split?.ISIN}`])
    expect([late.find('A', '2026-02-02'), late.find('C', '2026-02-04')]).toEqual(['D', 'D'])
    // Another company takes the symbol: the rows of both ISINs are those of the files.
    const gone = await settle('2026-02-07', N, B)
    expect([gone.find('A', '2026-02-02'), gone.find('D', '2026-02-02')]).toEqual([`A~${split?.ISIN}`, 'D'])
  })

  it('are themselves with a new ISIN and a new symbol after days without a run', async () => {
    const settle = createDays()
    const split = { ...F, ISIN: 'INE111A01029', Symbol: 'C' }
    await settle('2026-02-02', F, B)
    const { isins, find, moves } = await settle('2026-02-06', split, B)
    expect([isins, moves]).toEqual([[`${split.ISIN} < ${F.ISIN}`], []])
    expect([find('A', '2026-02-02'), find('C', '2026-02-06')]).toEqual(['C', 'C'])
    // Another share of the issuer is another stock.
    const other = createDays()
    await other('2026-02-02', F, B)
    expect((await other('2026-02-06', { ...split, Sid: '9' }, B)).isins).toEqual([])
  })

  it('own the files and the rows of their days after two of them exchanged their symbols', async () => {
    const settle = createDays()
    await settle('2026-02-02', F, B)
    const { moves, find } = await settle('2026-02-03', { ...F, Symbol: 'B' }, { ...B, Symbol: 'A' })
    expect(moves).toEqual([`A > A~${F.ISIN}`, `A~${B.ISIN} > A`, `B > B~${B.ISIN}`, `B~${F.ISIN} > B`])
    expect([find('A', '2026-02-02'), find('B', '2026-02-02')]).toEqual(['B', 'A'])
    expect([find('A', '2026-02-03'), find('B', '2026-02-03')]).toEqual(['A', 'B'])
    // A list that names the company means it by its present symbol, whatever the day.
    expect([find('A', '2026-02-02', { name: B.Name }), find('B', '2026-02-03', { name: B.Name })]).toEqual([
      'A',
      'A',
    ])
  })

  it('are the listed stock of a free symbol that it takes, from then on', async () => {
    const settle = createDays()
    await settle('2026-02-02', F, B)
    const { moves, find } = await settle('2026-02-03', { ...B, Symbol: 'A' })
    expect(moves).toEqual([`A > A~${F.ISIN}`, `A~${B.ISIN} > A`])
    expect([find('A', '2026-02-02'), find('A', '2026-02-03'), find('B', '2026-02-02')]).toEqual([
      `A~${F.ISIN}`,
      'A',
      'A',
    ])
  })

  it('are added once, however often a killed run is resumed', async () => {
    const settle = createDays()
    await settle('2026-02-02', F, B)
    await settle('2026-02-03', B)
    await settle('2026-02-04', F, B)
    expect((await settle('2026-02-05', B)).former).toEqual([`A ${F.ISIN} 2026-02-04`])
  })

  it.each([
    ['lost', undefined],
    ['damaged', '[{'],
  ])('are those of the file names if the document is %s', async (_, document) => {
    const files: MemoryFiles = new Map([['master_isin_map.json', { text: JSON.stringify([N, B]) }]])
    if (document) files.set('.scripstream/former-stocks.json', { text: document })
    const line = (day: Day): string => `${toInstant(day, '00:00') / 1_000},1,1,1,1,1\n`
    const text = `Timestamp,Open,High,Low,Close,Volume\n${line('2026-02-02')}`
    // The second has no candles, and the third is of a listed stock.
    files.set(`ohlcv_data/A~${F.ISIN}.csv`, { text })
    files.set('ohlcv_data/A~INE444A01011.csv', { text: 'Timestamp,Open,High,Low,Close,Volume\n' })
    files.set(`ohlcv_data/B~${B.ISIN}.csv`, { text })
    const { stored } = memory(files)
    const { findSymbol } = await lastValueFrom(readOwners(stored))
    expect((['2026-02-02', '2026-02-03'] as const).map((day) => findSymbol('A', day))).toEqual([
      `A~${F.ISIN}`,
      'A',
    ])
    expect(findSymbol('B', '2026-02-02')).toBe('B')
    // It is back with a new ISIN of its issuer, and gets its files.
    const split = { ...F, ISIN: 'INE111A01029' }
    const settled = await lastValueFrom(
      settleStocks(() => [split, B], { stored, asOf: toInstant('2026-02-05', '20:00') }),
    )
    expect(settled.moves).toContainEqual([`A~${F.ISIN}`, 'A'])
    expect([...settled.earlierIsins]).toEqual([[split.ISIN, [F.ISIN]]])
    expect(settled.document).toMatchObject([
      { symbol: 'A', isin: F.ISIN, file: 'A', until: '2026-02-02' },
      { symbol: 'A', isin: N.ISIN, until: '2026-02-04' },
    ])
  })

  it('are none in a document of another shape', () => {
    for (const document of [undefined, {}, [7, { symbol: 'A' }, { symbol: 'A', isin: 'I', until: 'x' }]])
      expect(parseFormerStocks(document)).toEqual([])
  })
})
