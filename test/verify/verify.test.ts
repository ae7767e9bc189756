import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { UsageError } from '../../src/model/errors.js'
import { checkNames, type Finding } from '../../src/verify/finding.js'
import { temporaryFolder } from '../support/folders.js'
import { HISTORY_CHECKS } from '../tables/history/ten-days.js'
import { copyOf, gist, type OutputFolder, outputFolder, runInto, verified } from './support.js'

const clean = temporaryFolder()
const names = { a: '', b: '', c: '' }

beforeAll(async () => {
  await runInto(clean)
  Object.assign(names, { a: '63MOONS', b: 'RELIANCE', c: 'TCS' })
})

/** The candles of a stock after a change to them. */
const change = (
  folder: OutputFolder,
  symbol: string,
  to: (candles: readonly number[][]) => readonly (readonly number[])[],
): void => folder.putCandles(symbol, to(folder.candles(symbol)))

/** A copy of the sound folder, as one of another tool, without a report. */
const copyOfAnother = (): OutputFolder => {
  const folder = copyOf(clean)
  folder.forget()
  return folder
}

/** Plants a fault in the candles of all stocks, or of those of some places in the list. */
const inStocks =
  (to: (candles: readonly number[][]) => readonly (readonly number[])[], from = 0, until?: number) =>
  (folder: OutputFolder): string => {
    for (const { Symbol: symbol } of folder.rows('master_isin_map.json').slice(from, until))
      change(folder, String(symbol), to)
    return ''
  }

/** Plants a fault in the candles of a stock, which the finding names. */
const inCandles =
  (name: keyof typeof names, to: (candles: readonly number[][]) => readonly (readonly number[])[]) =>
  (folder: OutputFolder): string => {
    change(folder, names[name], to)
    return names[name]
  }

/** The close before, and no volume, on some candles from a place on, counted from the end. */
const standStill = (from: number, count: number) => (all: readonly number[][]) => {
  const start = all.length - from
  const close = Number(all[start - 1]?.[4])
  return all.map(([time = 0, ...others], place) =>
    place >= start && place < start + count ? [time, close, close, close, close, 0] : [time, ...others],
  )
}

const divided = ([time = 0, o = 0, h = 0, l = 0, c = 0, v = 0]: readonly number[], by: number): number[] => [
  time,
  o / by,
  h / by,
  l / by,
  c / by,
  v,
]

const CUT = 600

/** Sets the stock's listing day in the exchange's list to the day of the cut. */
const listedAtCut = (folder: OutputFolder, symbol = names.a, isin?: string): void => {
  const day = new Date((Number(folder.candles(names.a)[CUT]?.[0]) + 19_800) * 1_000).toUTCString()
  const [, date, month, year] = day.split(' ')
  const lines = folder.text('nse_equity_list.csv').split('\n')
  const changed = lines.map((line) => {
    const cells = line.split(',')
    if (cells[0] !== symbol) return line
    return cells
      .with(3, `${date}-${month?.toUpperCase()}-${year}`)
      .with(6, isin ?? String(cells[6]))
      .join(',')
  })
  folder.put('nse_equity_list.csv', changed.join('\n'))
}

/** The index of the day on which another series is cut. */
const placeIn = (others: readonly number[][], all: readonly number[][]): number =>
  others.findIndex(([time]) => time === all[CUT]?.[0])

/** The candles before the cut, divided, then those of another stock. */
const continued = (
  all: readonly number[][],
  others: readonly number[][],
  by: number,
): readonly (readonly number[])[] => [
  ...all.slice(0, CUT).map((candle) => divided(candle, by)),
  ...others.slice(placeIn(others, all)),
]

/** The file of any stock in a folder. */
const someFiling = (folder: OutputFolder): { readonly symbol: string; readonly file: string } => {
  for (const { Symbol: symbol } of folder.rows('master_isin_map.json')) {
    const file = `company_filings/${symbol}_filings.json`
    try {
      if (folder.text(file) !== '') return { symbol: String(symbol), file }
    } catch {}
  }
  throw new Error('no stock has filings')
}

/** What is said of checks that compare days, where fewer than two are recorded. */
const fewDays = (count: number): string =>
  `recorded days: at least 2 are compared, and ${count} can be read; the runs of each day add one`

/**
 * The findings but those of lists that contradict the candles: they may only do so for the stocks of planted
 * faults.
 */
const findingsApart = async (
  folder: OutputFolder,
  planted: readonly string[],
): Promise<readonly Finding[]> => {
  const { findings } = await verified(folder)
  const [contradicted, others] = [true, false].map((is) =>
    findings.filter(({ check }) => (check === 'recorded-values') === is),
  )
  expect(contradicted?.filter(({ symbol = '' }) => !planted.includes(symbol))).toEqual([])
  return others ?? []
}

describe('a sound folder', () => {
  it('has no findings, and the special session on a Sunday is one of the sessions', async () => {
    const found = await verified(outputFolder(clean))
    expect(found).toMatchObject({
      findings: [],
      notes: [fewDays(1)],
      passed: [],
      stocks: 24,
      sessions: { last: '2026-02-12' },
    })
    const sunday = Date.parse('2026-02-01T00:00:00+05:30') / 1_000
    expect(
      outputFolder(clean)
        .candles(names.a)
        .map(([time]) => time),
    ).toContain(sunday)
  })

  it('has no findings without a record of its run', async () => {
    const folder = copyOf(clean)
    folder.remove('.scripstream')
    const { findings, notes } = await verified(folder)
    expect({ findings, notes }).toMatchObject({
      findings: [],
      notes: [
        'file sizes: no run has recorded them; the next one does',
        'price bands: no report with their day; the next run writes one',
        fewDays(0),
      ],
    })
  })
})

describe('the coverage of a year', () => {
  it('is the share of the sessions of its stocks that have a candle, the newest year first', async () => {
    const folder = copyOfAnother()
    const { coverage, candles } = await verified(folder)
    const [newest] = coverage
    expect(newest).toEqual({
      year: 2026,
      sessions: newest?.sessions,
      stocks: 24,
      candles: 24 * (newest?.sessions ?? 0),
      share: 1,
    })
    expect(coverage.reduce((sum, { candles: count }) => sum + count, 0)).toBeLessThan(candles)
    change(folder, names.a, (all) => all.toSpliced(-12, 10))
    const [changed] = (await verified(folder)).coverage
    expect(changed?.candles).toBe((newest?.candles ?? 0) - 10)
    expect(changed?.share).toBeCloseTo(1 - 10 / (newest?.candles ?? 0), 4)
  })
})

describe('a missing input', () => {
  it.each([
    [
      'history_corporate_actions.json',
      ['splits and other adjustments: no corporate actions; fetch corporate-actions'],
    ],
    [
      'nse_equity_list.csv',
      [
        'streams without files: listing-dates; fetch them',
        'candles before the day of listing: no list with listing days; fetch listing-dates',
      ],
    ],
    [
      'complete_price_bands.json',
      [
        'streams without files: complete-price-bands; fetch them',
        'price bands: no list of them; fetch complete-price-bands',
      ],
    ],
    ['bulk_block_deals.json', ['streams without files: bulk-block-deals; fetch them']],
    [
      'ohlcv_data/indices',
      [
        'streams without files: indices-ohlcv; fetch them',
        'days that all stocks lack: too few indices; fetch indices-ohlcv',
      ],
    ],
    [
      '.scripstream',
      [
        'file sizes: no run has recorded them; the next one does',
        'price bands: no report with their day; the next run writes one',
      ],
    ],
  ])('%s is named as not checked', async (file, notes) => {
    const folder = copyOf(clean)
    folder.remove('.scripstream/full-run.json')
    folder.remove(file)
    expect((await verified(folder)).notes).toEqual([...notes, fewDays(file === '.scripstream' ? 0 : 1)])
    expect((await verified(folder, { only: ['duplicate-candles'] })).notes).toEqual([])
  })

  it('is named for one check alone that compares recorded days', async () => {
    expect(await verified(outputFolder(clean), { only: ['dead-columns'] })).toMatchObject({
      findings: [],
      notes: [fewDays(1)],
    })
  })

  it('of candles is one note', async () => {
    const folder = copyOf(clean)
    folder.remove('.scripstream')
    folder.remove('ohlcv_data')
    expect((await verified(folder)).notes).toContain(
      'prices and sessions: no candles of stocks; fetch all-ohlcv',
    )
  })

  it('of the day of the price bands is named, and no close is compared with bands of another day', async () => {
    const folder = copyOfAnother()
    folder.putRows('complete_price_bands.json', [{ Symbol: names.a, Series: 'EQ', Band: '10' }])
    const jumped = (all: readonly number[][]): readonly number[][] =>
      all.with(-1, divided(all.at(-1) as number[], 1 / 1.25))
    for (const { Symbol: symbol } of folder.rows('master_isin_map.json'))
      change(folder, String(symbol), (all) => all.slice(0, -1))
    change(folder, names.a, jumped)
    expect(await verified(folder, { only: ['price-bands'] })).toMatchObject({
      findings: [],
      notes: ['price bands: no candles of their day, 2026-02-12; run again later, the provider may be late'],
    })
  })
})

describe('price bands of a run on a weekend', () => {
  it.each([
    ['2026-02-14', 1, 0],
    ['2026-02-15', 1, 0],
    ['2026-02-15', 1, 1],
    ['2026-02-12', 1, 0],
    ['2026-02-16', 0, 0],
  ])('(%s) are those of the Friday before: %i, with %i stray candle', async (day, count, stray) => {
    const folder = copyOfAnother()
    const isThursday = day === '2026-02-12'
    folder.put(
      '.scripstream/report.json',
      JSON.stringify({
        ...JSON.parse(folder.text('.scripstream/report.json')),
        asOf: `${day}T20:00:00+05:30`,
      }),
    )
    folder.putRows('complete_price_bands.json', [{ Symbol: names.a, Series: 'EQ', Band: '10' }])
    for (const { Symbol: symbol } of folder.rows('master_isin_map.json'))
      change(folder, String(symbol), (all) => {
        const jumped =
          symbol === names.a
            ? all.with(-1, divided(all.at(-2) as number[], 1 / 1.25).with(0, Number(all.at(-1)?.[0])))
            : all
        return isThursday
          ? jumped
          : jumped.with(-1, (jumped.at(-1) as number[]).with(0, Number(jumped.at(-1)?.[0]) + 86_400))
      })
    if (stray > 0)
      change(folder, names.b, (all) => [
        ...all,
        (all.at(-1) as number[]).with(0, Number(all.at(-1)?.[0]) + 2 * 86_400),
      ])
    const { findings, notes } = await verified(folder, { only: ['price-bands'] })
    expect([findings.length, notes.length]).toEqual([count, 1 - count])
  })
})

interface Planted {
  readonly fault: string
  /** Plants the fault; returns the symbol or file of the expected finding. */
  readonly plant: (folder: OutputFolder) => string
  readonly found: string
  readonly detail?: RegExp
}

/** Faults in candle files and records, in folders without a report. */
const faults: readonly Planted[] = [
  {
    fault: 'a candle twice',
    plant: inCandles('a', (all) => [...all.slice(0, 900), ...all.slice(899)]),
    found: 'duplicate-candles error',
  },
  {
    fault: 'a day twice, at midnight and in the morning',
    plant: inCandles('a', (all) =>
      all.flatMap((candle, place) =>
        place === 700 ? [candle, [Number(candle[0]) + 19_800, ...candle.slice(1)]] : [candle],
      ),
    ),
    found: 'duplicate-candles error',
  },
  {
    fault: 'a whole file behind itself',
    plant: inCandles('a', (all) => [...all, ...all]),
    found: 'duplicate-candles error',
  },
  {
    fault: 'two candles in the wrong order',
    plant: inCandles('b', (all) => all.with(50, all[51] as number[]).with(51, all[50] as number[])),
    found: 'unordered-candles error',
  },
  {
    fault: 'a high below the low',
    plant: inCandles('b', (all) =>
      all.map(([t = 0, o = 0, h = 0, l = 0, c = 0, v = 0], place) =>
        place === 33 ? [t, o, l, h, c, v] : [t, o, h, l, c, v],
      ),
    ),
    found: 'impossible-candles error',
    detail: /high is below the low/,
  },
  {
    fault: 'a close above the high',
    plant: inCandles('b', (all) =>
      all.map((candle, place) => (place === 33 ? candle.with(4, Number(candle[2]) * 1.02) : candle)),
    ),
    found: 'impossible-candles error',
    detail: /close is outside/,
  },
  {
    fault: 'a price of nothing',
    plant: inCandles('b', (all) => all.map((candle, place) => (place === 33 ? candle.with(3, 0) : candle))),
    found: 'impossible-candles error',
  },
  {
    fault: 'a volume with a fraction',
    plant: inCandles('b', (all) =>
      all.map((candle, place) => (place === 33 ? candle.with(5, 3_092_463.25) : candle)),
    ),
    found: 'impossible-candles error',
    detail: /^a volume of 3,092,463.25, which is no number of shares, on /,
  },
  {
    fault: 'a price beyond any column',
    plant: inCandles('b', (all) =>
      all.map((candle, place) => (place === 33 ? candle.with(2, 1e300) : candle)),
    ),
    found: 'impossible-candles error',
    detail: /^a price that is too large on /,
  },
  {
    fault: 'the candles of two stocks under one symbol, day by day',
    plant: (folder) => {
      const others = new Map(folder.candles(names.b).map((candle) => [candle[0], divided(candle, 0.1)]))
      change(folder, names.a, (all) =>
        all.flatMap((candle) => [candle, ...[others.get(candle[0])].filter((other) => other !== undefined)]),
      )
      return names.a
    },
    found: 'spliced-series error',
    detail: /days have two prices, such as \S+ with \S+ and [\d.,]+$/,
  },
  {
    fault: 'adjusted and unadjusted candles, day by day',
    plant: inCandles('a', (all) =>
      all.flatMap((candle, place) =>
        place < 400 && place > 200 ? [candle, divided(candle, 1 / 2.83)] : [candle],
      ),
    ),
    found: 'unadjusted-actions error',
    detail: /^199 days have two prices, .*, at a constant factor of 2.83$/,
  },
  {
    fault: 'unadjusted candles behind the adjusted ones',
    plant: inCandles('a', (all) => [...all, ...all.slice(0, 400).map((candle) => divided(candle, 1.58))]),
    found: 'unadjusted-actions error',
    detail: /at a constant factor of 1.58$/,
  },
  {
    fault: 'two stocks that take turns',
    plant: (folder) => {
      const others = new Map(folder.candles(names.b).map((candle) => [candle[0], divided(candle, 0.1)]))
      change(folder, names.a, (all) =>
        all.map((candle, place) => (place % 3 === 0 ? (others.get(candle[0]) ?? candle) : candle)),
      )
      return names.a
    },
    found: 'spliced-series error',
    detail: /between two levels, .* at factors from [\d.]+ to [\d.]+$/,
  },
  {
    fault: 'adjusted and unadjusted candles that take turns',
    plant: inCandles('a', (all) =>
      all.map((candle, place) =>
        place > 300 && place < 330 && place % 3 === 0 ? divided(candle, 4) : candle,
      ),
    ),
    found: 'unadjusted-actions error',
    detail: /swing 18 times .* at a constant factor of (3\.9\d|4|4\.0\d)$/,
  },
  {
    fault: 'another price after a year without a candle',
    plant: inCandles('a', (all) => [
      ...all.slice(0, 300).map((candle) => divided(candle, 5)),
      ...all.slice(560),
    ]),
    found: 'large-moves warning',
    detail: /, after 3\d\d days without a candle$/,
  },
  {
    fault: 'two months of unadjusted candles, at the factor of a demerger',
    plant: inCandles('a', (all) =>
      all.map((candle, place) => (place >= 500 && place < 540 ? divided(candle, 1 / 2.83) : candle)),
    ),
    found: 'unadjusted-actions error',
    detail: /^40 candles from \S+ to \S+ are at a constant factor of 2.8\d: the close goes from/,
  },
  {
    fault: 'unadjusted candles that take turns, and later stay for a while',
    plant: inCandles('a', (all) =>
      all.map((candle, place) =>
        (place > 300 && place < 330 && place % 3 === 0) || (place > 700 && place < 760)
          ? divided(candle, 4)
          : candle,
      ),
    ),
    found: 'unadjusted-actions error',
  },
  ...[1, 2, 3].map(
    (length): Planted => ({
      fault: `a spike of ${length} candles, at the factor of a split`,
      plant: inCandles('a', (all) =>
        all.map((candle, place) => (place >= 500 && place < 500 + length ? divided(candle, 2) : candle)),
      ),
      found: 'large-moves warning',
      detail: /^the close spikes from \S+ to \S+ \(-\d+ %\) and is back at \S+ on \d{4}-\d{2}-\d{2}$/,
    }),
  ),
  {
    fault: 'a spike with an impossible close',
    plant: inCandles('a', (all) =>
      all.map((candle, place) => (place === 500 ? candle.with(4, Number(candle[4]) * 5) : candle)),
    ),
    found: 'impossible-candles error',
  },
  {
    fault: 'a day on which all closes jump',
    plant: (folder) => {
      const day = folder.candles(names.a)[500]?.[0]
      for (const { Symbol: symbol } of folder.rows('master_isin_map.json'))
        change(folder, String(symbol), (all) =>
          all.map((candle) => (candle[0] === day ? divided(candle, 0.01) : candle)),
        )
      return ''
    },
    found: 'odd-days error',
    detail: /^\d+ of \d+ stocks have a close more than 30 % from the previous one on /,
  },
  {
    fault: 'a day that six stocks lack',
    plant: inStocks((all) => all.toSpliced(-30, 1), 5, 11),
    found: 'odd-days warning',
    detail: /^6 of 24 stocks lack the session of 2026-01-/,
  },
  {
    fault: 'another stock’s series from a day on',
    plant: (folder) => {
      change(folder, names.a, (all) => continued(all, folder.candles(names.b), 1))
      return names.a
    },
    found: 'spliced-series error',
    detail:
      /^[\d,]{3,} candles from \S+ to 2026-02-12 are the same as those of \S+: one of the two files has another stock's series$/,
  },
  {
    fault: 'another stock’s series from a day on, at just the price at which the own one ends',
    plant: (folder) => {
      const others = folder.candles(names.b)
      change(folder, names.a, (all) =>
        continued(all, others, Number(all[CUT]?.[4]) / Number(others[placeIn(others, all)]?.[4])),
      )
      return names.a
    },
    found: 'spliced-series error',
  },
  {
    fault: 'two months of another stock’s series',
    plant: (folder) => {
      const others = folder.candles(names.b)
      change(folder, names.a, (all) => {
        const from = placeIn(others, all)
        return [...all.slice(0, CUT), ...others.slice(from, from + 44), ...all.slice(CUT + 44)]
      })
      return names.a
    },
    found: 'spliced-series error',
    detail: /^44 candles from/,
  },
  {
    fault: 'the whole series of another stock',
    plant: (folder) => {
      folder.put(`ohlcv_data/${names.b}.csv`, folder.text(`ohlcv_data/${names.a}.csv`))
      return [names.a, names.b].sort().at(-1) as string
    },
    found: 'spliced-series error',
  },
  {
    fault: 'candles of another stock before the day of listing, at a price of their own',
    plant: (folder) => {
      listedAtCut(folder)
      change(folder, names.a, (all) =>
        all.map((candle, place) => (place < CUT ? divided(candle, 5) : candle)),
      )
      return names.a
    },
    found: 'spliced-series warning',
    detail: /, at its listing of \d{4}-\d{2}-\d{2}$/,
  },
  {
    fault: 'a large move on the day of listing, by less than strangers are apart',
    plant: (folder) => {
      listedAtCut(folder)
      change(folder, names.a, (all) =>
        all.map((candle, place) => (place < CUT ? divided(candle, 1.6) : candle)),
      )
      return names.a
    },
    found: 'large-moves warning',
    detail: /, at its listing of/,
  },
  {
    fault: 'a split that was not adjusted',
    plant: (folder) => {
      change(folder, names.c, (all) =>
        all.map((candle, place) => (place < all.length - 20 ? divided(candle, 0.2) : candle)),
      )
      const [time = 0] = folder.candles(names.c).at(-20) ?? []
      const ExDate = new Date((time + 19_800) * 1_000).toISOString().slice(0, 10)
      const row = { Sym: names.c, CorpAct: [{ ActType: 'SPLIT', ExDate, Note: '2:10' }] }
      folder.putRows('history_corporate_actions.json', [
        ...folder.rows('history_corporate_actions.json'),
        row,
      ])
      return names.c
    },
    found: 'unadjusted-actions error',
    detail: /with the split of/,
  },
  {
    fault: 'a split and a bonus of one day that were not adjusted',
    plant: (folder) => {
      change(folder, names.c, (all) =>
        all.map((candle, place) => (place < all.length - 20 ? divided(candle, 0.1) : candle)),
      )
      const [time = 0] = folder.candles(names.c).at(-20) ?? []
      const ExDate = new Date((time + 19_800) * 1_000).toISOString().slice(0, 10)
      const CorpAct = [
        { ActType: 'SPLIT', ExDate, Note: '2:10' },
        { ActType: 'BONUS', ExDate, Note: '1:1' },
      ]
      folder.putRows('history_corporate_actions.json', [
        ...folder.rows('history_corporate_actions.json'),
        { Sym: names.c, CorpAct },
      ])
      return names.c
    },
    found: 'unadjusted-actions error',
    detail: /with the split of \S+ and the bonus of/,
  },
  {
    fault: 'a fall by half that no action explains',
    plant: inCandles('c', (all) => all.map((candle, place) => (place < 500 ? divided(candle, 0.5) : candle))),
    found: 'large-moves warning',
    detail: /like a split of 1 into 2/,
  },
  {
    fault: 'a session that is missing',
    plant: inCandles('a', (all) => all.toSpliced(800, 1)),
    found: 'missing-sessions warning',
    detail: /^the session of/,
  },
  {
    fault: 'the session before the last that is missing',
    plant: inCandles('a', (all) => all.toSpliced(-2, 1)),
    found: 'missing-sessions warning',
  },
  {
    fault: 'a month that is missing',
    plant: inCandles('a', (all) => all.toSpliced(800, 22)),
    found: 'missing-sessions warning',
    detail: /^22 sessions from/,
  },
  {
    fault: 'a Saturday on which two stocks alone have a candle',
    plant: (folder) => {
      const saturday = Date.parse('2026-01-31T00:00:00+05:30') / 1_000
      for (const symbol of [names.a, names.b])
        change(folder, symbol, (all) => {
          const place = all.findIndex(([time = 0]) => time > saturday)
          return all.toSpliced(place, 0, (all[place - 1] as number[]).with(0, saturday))
        })
      return ''
    },
    found: 'odd-days warning',
    detail: /^2 of \d+ listed stocks have a candle of 2026-01-31; 0 of/,
  },
  {
    fault: 'a day that all indices have and hardly a stock',
    plant: inStocks((all) => all.toSpliced(-6, 1), 1),
    found: 'odd-days warning',
    detail: /^1 of 24 listed stocks/,
  },
  {
    fault: 'a month that all indices have and no stock has yet',
    plant: inStocks((all) => all.slice(0, -22)),
    found: 'odd-days warning',
    detail: /^no stock has a candle of 22 days from 2026-01-\d\d to 2026-02-12, but most indices do$/,
  },
  ...[1, 10].map(
    (count): Planted => ({
      fault: `a stock without the newest ${count} sessions`,
      plant: inCandles('a', (all) => all.slice(0, -count)),
      found: 'newest-sessions warning',
      detail:
        count === 1
          ? /^the newest session, 2026-02-12, is missing$/
          : /^the newest 10 sessions, from 2026-0\d-\d\d on, are missing$/,
    }),
  ),
  {
    fault: 'six stocks without the newest session',
    plant: inStocks((all) => all.slice(0, -1), 5, 11),
    found: 'odd-days warning',
    detail: /^6 of 24 stocks have no candle since 2026-02-12/,
  },
  {
    fault: 'a market whose candles ended weeks before the run, without indices',
    plant: (folder) => {
      folder.remove('ohlcv_data/indices')
      return inStocks((all) => all.slice(0, -4))(folder)
    },
    found: 'newest-sessions warning',
    detail: /^the newest candles are of 2026-02-06, 3 weekdays before the day of the run$/,
  },
  {
    fault: 'a candle without volume',
    plant: inCandles('a', (all) => all.with(700, (all[700] as number[]).with(5, 0))),
    found: 'volumes warning',
    detail: /^a volume of 0 on/,
  },
  {
    fault: 'a liquid stock without 13 sessions twice in a quarter',
    plant: inCandles('a', (all) =>
      all
        .map((candle) => candle.with(5, 10_000_000))
        .filter(
          (_, place) =>
            ![70, 40].some((from) => place >= all.length - from && place < all.length - from + 13),
        ),
    ),
    found: 'missing-sessions warning',
    detail: /^13 sessions from/,
  },
  ...[12, 40].map(
    (count): Planted => ({
      fault: `a stock that stands still without volume on the newest ${count} sessions`,
      plant: inCandles('a', standStill(count, count)),
      found: 'volumes warning',
      detail: new RegExp(
        `^a volume of 0 on each of ${count} sessions from 202\\d-\\d\\d-\\d\\d to 2026-02-12$`,
      ),
    }),
  ),
  {
    fault: 'a stock that stood still without volume for 35 sessions',
    plant: inCandles('a', standStill(100, 35)),
    found: 'volumes warning',
    detail: /^a volume of 0 on each of 35 sessions from/,
  },
  {
    fault: 'a thousandfold volume on 5 sessions',
    plant: inCandles('a', (all) =>
      all.map((candle, place) =>
        place >= all.length - 50 && place < all.length - 45
          ? candle.with(5, Number(candle[5]) * 1_000)
          : candle,
      ),
    ),
    found: 'volumes warning',
    detail: /^a volume of [\d,]+, [\d.]+ times the usual one, on each of 5 sessions from/,
  },
  {
    fault: 'a thousandfold volume',
    plant: inCandles('a', (all) =>
      all.with(-1, (all.at(-1) as number[]).with(5, Number(all.at(-1)?.[5]) * 1_000)),
    ),
    found: 'volumes warning',
    detail: /^a volume of [\d,]+, [\d.]+ times the usual one, on 2026-02-12$/,
  },
  {
    fault: 'a day without volume',
    plant: inStocks((all) => all.with(-20, (all.at(-20) as number[]).with(5, 0))),
    found: 'odd-days error',
    detail: /have an impossible volume on/,
  },
  {
    fault: 'a stock whose candles ended two months ago',
    plant: inCandles('a', (all) => all.slice(0, -40)),
    found: 'stale-symbols warning',
    detail: /, 40 sessions before/,
  },
  {
    fault: 'a close beyond its band',
    plant: (folder) => {
      folder.putRows('complete_price_bands.json', [{ Symbol: names.a, Series: 'EQ', Band: '10' }])
      change(folder, names.a, (all) => {
        const close = Number(all.at(-2)?.[4]) * 1.12
        return all.with(-1, [Number(all.at(-1)?.[0]), close, close, close, close, 1])
      })
      return names.a
    },
    found: 'price-bands warning',
    detail: /is 12\.0 % from .* the band is 10 %/,
  },
  {
    fault: 'a record of a stock that is not listed',
    plant: (folder) => {
      folder.putRows('fundamental_data.json', [
        ...folder.rows('fundamental_data.json'),
        { Symbol: 'GONE', ISIN: 'INE000000000' },
      ])
      return 'fundamental_data.json'
    },
    found: 'stray-records warning',
    detail: /^1 record names .*: GONE/,
  },
  {
    fault: 'a holding above 100 %',
    plant: (folder) => {
      folder.putRows(
        'fundamental_data.json',
        folder
          .rows('fundamental_data.json')
          .map((row) =>
            (row as { Symbol: string }).Symbol === names.a ? { ...row, sHp: { PROMOTER: '165|60' } } : row,
          ),
      )
      return names.a
    },
    found: 'impossible-values warning',
    detail: /^PROMOTER of sHp: 165 is above 100$/,
  },
  {
    fault: 'a record that another stock has under the symbol',
    plant: (folder) => {
      folder.putRows('advanced_indicator_data.json', [
        ...folder.rows('advanced_indicator_data.json'),
        { Symbol: names.a, ISIN: 'INE000000000' },
      ])
      return 'advanced_indicator_data.json'
    },
    found: 'stray-records warning',
  },
  {
    fault: 'a surveillance list with a stranger in it',
    plant: (folder) => {
      folder.putRows('nse_asm_list.json', [
        ...folder.rows('nse_asm_list.json'),
        { Symbol: 'GONE', Name: '', ISIN: 'INE000000000', Stage: 'GSM - 0 (99)' },
      ])
      return 'nse_asm_list.json'
    },
    found: 'stray-records info',
  },
  {
    fault: 'the filings of another stock',
    plant: (folder) => {
      const { symbol, file } = someFiling(folder)
      const document = JSON.parse(folder.text(file))
      folder.put(
        file,
        JSON.stringify({
          ...document,
          data: [{ ...document.data[0], isin: 'INE000000000' }, ...document.data],
        }),
      )
      return symbol
    },
    found: 'stray-records error',
  },
  {
    fault: 'candles of a stock that is no longer listed',
    plant: (folder) => {
      folder.put('ohlcv_data/GONE.csv', folder.text(`ohlcv_data/${names.a}.csv`))
      return 'ohlcv_data/GONE.csv'
    },
    found: 'leftovers info',
  },
  {
    fault: 'a document that is truncated',
    plant: (folder) => {
      const { symbol, file } = someFiling(folder)
      folder.put(file, folder.text(file).slice(0, -40))
      return symbol
    },
    found: 'files error',
    detail: /not valid JSON/,
  },
  {
    fault: 'a file over all stocks that is cut off',
    plant: (folder) => {
      folder.put('fundamental_data.json', folder.text('fundamental_data.json').slice(0, -40))
      return 'fundamental_data.json'
    },
    found: 'files error',
  },
  {
    fault: 'a CSV list with an open quote',
    plant: (folder) => {
      folder.put('nse_equity_list.csv', folder.text('nse_equity_list.csv').replace('\n', '\n"'))
      return 'nse_equity_list.csv'
    },
    found: 'files error',
    detail: /^it is not valid CSV/,
  },
  {
    fault: 'a candle file whose last line is truncated',
    plant: (folder) => {
      folder.put(`ohlcv_data/${names.a}.csv`, folder.text(`ohlcv_data/${names.a}.csv`).slice(0, -9))
      return names.a
    },
    found: 'files error',
    detail: /last line is truncated/,
  },
  {
    fault: 'a candle file with another header',
    plant: (folder) => {
      folder.put(
        `ohlcv_data/${names.a}.csv`,
        folder.text(`ohlcv_data/${names.a}.csv`).replace('Timestamp', 'Date'),
      )
      return names.a
    },
    found: 'files error',
  },
  {
    fault: 'a line in the middle that is no candle',
    plant: (folder) => {
      const lines = folder.text(`ohlcv_data/${names.a}.csv`).split('\n')
      folder.put(`ohlcv_data/${names.a}.csv`, lines.toSpliced(2, 0, '1,2,x,4,5,6').join('\n'))
      return names.a
    },
    found: 'files error',
    detail: /^line 3 is no candle/,
  },
  {
    fault: 'numbers with a fraction in a field of whole numbers',
    plant: (folder) => {
      const deals = folder.rows('bulk_block_deals.json')
      const [first = {}, ...others] = deals
      folder.putRows('bulk_block_deals.json', [...others, { ...first, qty: 10.5 }])
      return String(first.sym)
    },
    found: 'impossible-values warning',
    detail: /^quantity: 10\.5 has a fraction; the column is NULL there/,
  },
  {
    fault: 'a write that was broken off',
    plant: (folder) => {
      const file = 'ohlcv_data/.A.csv.0b0b0b0b-0b0b-0b0b-0b0b-0b0b0b0b0b0b.tmp'
      folder.put(file, 'x')
      return file
    },
    found: 'files warning',
  },
]

describe('a planted fault is the only finding', () => {
  it.each(faults)('$fault', async ({ plant, found, detail = /./ }) => {
    const folder = copyOfAnother()
    const about = plant(folder)
    const all = folder.rows('master_isin_map.json').map(({ Symbol: symbol }) => String(symbol))
    const findings = await findingsApart(folder, about === '' ? all : [about])
    expect(findings.map(gist)).toEqual([`${found} ${about}`.trim()])
    expect(findings[0]?.detail).toMatch(detail)
  })

  it('also if ten others are in the same folder', async () => {
    const folder = copyOfAnother()
    const symbols = folder.rows('master_isin_map.json').map(({ Symbol: symbol }) => String(symbol))
    const [shuffled, repeated, impossible, spike, split, spliced, other, cut, great, zero] = symbols.slice(
      8,
    ) as [string, ...string[]] & Record<number, string>
    const lengthOf = (symbol: string): number => folder.candles(symbol).length
    // Of large stocks, which have no band; the copy has more candles than its file had, not fewer.
    const [copy, copied] = symbols
      .slice(0, 8)
      .filter((symbol) => lengthOf(symbol) > 1_000)
      .slice(0, 2)
      .toSorted((one, two) => lengthOf(one) - lengthOf(two))
    const day = folder.candles(String(split)).at(-30)?.[0] ?? 0
    const marketDay = folder.candles(String(split)).at(-25)?.[0]
    change(folder, shuffled, (all) =>
      all.with(-100, all.at(-101) as number[]).with(-101, all.at(-100) as number[]),
    )
    change(folder, String(repeated), (all) => all.toSpliced(-50, 0, all.at(-50) as number[]))
    change(folder, String(impossible), (all) =>
      all.map((candle, place) => (place === 500 ? candle.with(2, Number(candle[3]) / 2) : candle)),
    )
    change(folder, String(spike), (all) =>
      all.map((candle, place) => (place === 500 || place === 501 ? divided(candle, 2) : candle)),
    )
    change(folder, String(split), (all) =>
      all.map((candle) => (Number(candle[0]) < day ? divided(candle, 0.2) : candle)),
    )
    const action = {
      ActType: 'SPLIT',
      ExDate: new Date((day + 19_800) * 1_000).toISOString().slice(0, 10),
      Note: '2:10',
    }
    folder.putRows('history_corporate_actions.json', [
      ...folder.rows('history_corporate_actions.json'),
      { Sym: split, CorpAct: [action] },
    ])
    change(folder, String(spliced), (all) => [
      ...all.slice(0, -40),
      ...folder.candles(String(other)).slice(-40),
    ])
    change(folder, String(cut), (all) => all.slice(0, -10))
    change(folder, String(great), (all) =>
      all.with(-90, (all.at(-90) as number[]).with(5, Number(all.at(-90)?.[5]) * 1_000)),
    )
    change(folder, String(zero), (all) => all.with(-95, (all.at(-95) as number[]).with(5, 0)))
    change(folder, String(copied), (all) =>
      all.map((candle, place) => (place < 900 ? divided(candle, 2) : candle)),
    )
    folder.put(`ohlcv_data/${copy}.csv`, folder.text(`ohlcv_data/${copied}.csv`))
    for (const symbol of symbols) change(folder, symbol, (all) => all.filter(([time]) => time !== marketDay))
    const findings = await findingsApart(folder, [...symbols.slice(8), String(copy), String(copied)])
    const [first, second] = [copy, copied].toSorted()
    expect(findings.map(gist).toSorted()).toEqual(
      [
        `unordered-candles error ${shuffled}`,
        `duplicate-candles error ${repeated}`,
        `impossible-candles error ${impossible}`,
        `large-moves warning ${spike}`,
        `unadjusted-actions error ${split}`,
        `spliced-series error ${spliced}`,
        `newest-sessions warning ${cut}`,
        `volumes warning ${great}`,
        `volumes warning ${zero}`,
        'odd-days warning',
        // Two equal files do not show whose series they have; the large move is in the other one.
        `spliced-series error ${second}`,
        `large-moves warning ${first}`,
      ].toSorted(),
    )
  })

  it.each([
    [
      'of a few paise',
      (all: readonly number[][]) =>
        all.map((candle, place) =>
          divided(candle, (Number(candle[4]) / 0.4) * (place >= 500 && place < 540 ? 0.5 : 1)),
        ),
    ],
    [
      'that hardly trades',
      (all: readonly number[][]) =>
        all
          .map((candle, place) => (place >= 500 && place < 540 ? divided(candle, 1 / 2.83) : candle))
          .filter((_, place) => place < 490 || place >= 550 || place % 10 === 5),
    ],
  ])('is no unadjusted action for the moves of a stock %s', async (_, to) => {
    const folder = copyOfAnother()
    change(folder, names.a, to)
    const { findings } = await verified(folder, {
      symbols: [names.a],
      only: ['unadjusted-actions', 'large-moves'],
    })
    expect(findings.map(({ check }) => check)).toEqual(['large-moves', 'large-moves'])
  })

  it('also if a liquid stock has several gaps, but not if an illiquid one has', async () => {
    const folder = copyOfAnother()
    const withGaps = (times: number) => (all: readonly number[][]) =>
      all
        .map((candle) => candle.with(5, Math.ceil(Number(candle[5]) * times)))
        .filter((_, place) => ![all.length - 60, all.length - 30].includes(place))
    change(folder, names.a, withGaps(1_000))
    change(folder, names.b, withGaps(0.0001))
    expect((await findingsApart(folder, [names.a, names.b])).map(gist)).toEqual(
      Array.from({ length: 2 }, () => `missing-sessions warning ${names.a}`),
    )
  })

  it('has a plant for every check that needs no history and no lists that agree', () => {
    const others = [
      'repeated-candles',
      'shifted-series',
      'short-histories',
      'recorded-values',
      'duplicate-records',
      'witness',
    ]
    expect(
      new Set([...faults.map(({ found }) => found.split(' ')[0]), ...HISTORY_CHECKS, ...others]),
    ).toEqual(new Set(checkNames))
  })
})

describe('the day of listing', () => {
  it('may come after candles, as for a stock that changed its board', async () => {
    const folder = copyOfAnother()
    listedAtCut(folder)
    expect((await verified(folder)).findings).toEqual([])
  })

  it.each([-100, 100])('causes no finding for a price jump %i sessions away from it', async (away) => {
    const folder = copyOfAnother()
    listedAtCut(folder)
    change(folder, names.a, (all) =>
      all.map((candle, place) => (place < CUT + away ? divided(candle, 3.5) : candle)),
    )
    const { findings } = await verified(folder)
    expect(findings.map(gist)).toEqual([`large-moves warning ${names.a}`])
    expect(findings[0]?.detail).not.toContain('listing')
  })

  it('is ignored if the list has another stock under the symbol', async () => {
    const folder = copyOfAnother()
    listedAtCut(folder, names.a, 'INE000000000')
    change(folder, names.a, (all) => all.map((candle, place) => (place < CUT ? divided(candle, 5) : candle)))
    expect((await verified(folder)).findings.map(gist)).toEqual([`large-moves warning ${names.a}`])
  })
})

describe('the newest days', () => {
  it('of indices alone are no missing sessions of each stock', async () => {
    const folder = copyOfAnother()
    inStocks((all) => all.slice(0, -1))(folder)
    const { sessions, findings } = await verified(folder)
    expect(sessions.last).toBe('2026-02-11')
    expect(findings.map(gist)).toEqual(['odd-days warning'])
  })

  it.each([3, 12])('that %i stocks have are sessions, and the others lack them', async (spared) => {
    const folder = copyOfAnother()
    inStocks((all) => all.slice(0, -22), spared)(folder)
    const { sessions, findings } = await verified(folder, { only: ['stale-symbols', 'odd-days'] })
    expect(sessions.last).toBe('2026-02-12')
    expect(findings).toMatchObject([
      {
        check: 'odd-days',
        detail: expect.stringMatching(`^${24 - spared} of 24 stocks have no candle after`),
      },
    ])
  })
})

describe('files compared with the record of the run', () => {
  it.each([
    [
      'a file that is missing',
      (folder: OutputFolder, file: string) => folder.remove(file),
      /^it is missing; the last run wrote [\d,]+ bytes$/,
    ],
    [
      'a file that was truncated',
      (folder: OutputFolder, file: string) => folder.put(file, folder.text(file).slice(0, -40)),
      /^it has [\d,]+ bytes; the last run wrote [\d,]+; it is not valid JSON$/,
    ],
    [
      'a file that grew',
      (folder: OutputFolder, file: string) => folder.put(file, `${folder.text(file)}\n`),
      /^it has/,
    ],
  ])('report %s, by the record of a complete run', async (_, plant, detail) => {
    const folder = copyOf(clean)
    const { file } = someFiling(folder)
    plant(folder, file)
    const { findings, passed } = await verified(folder)
    expect(findings).toEqual([
      expect.objectContaining({
        check: 'files',
        severity: 'error',
        file,
        detail: expect.stringMatching(detail),
      }),
    ])
    expect(passed).toEqual([{ limit: 'errors', allowed: 0, found: 1 }])
  })

  it.each([
    [
      'a file that is missing',
      'bulk_block_deals.json',
      undefined,
      /^it is missing; the last run wrote [\d,]+ bytes$/,
    ],
    [
      'a list that is shorter',
      'bulk_block_deals.json',
      '[]\n',
      /^it has 3 bytes; the last run wrote [\d,]+$/,
    ],
    [
      'one of many files that is missing',
      'ohlcv_data',
      undefined,
      /^it is missing; the last run wrote [\d,]+ bytes$/,
    ],
  ])('report %s, by the digests if the record is gone', async (_, name, text, detail) => {
    const folder = copyOf(clean)
    folder.remove('.scripstream/full-run.json')
    const file = name === 'ohlcv_data' ? `ohlcv_data/${names.a}.csv` : name
    if (text === undefined) folder.remove(file)
    else folder.put(file, text)
    expect((await verified(folder, { only: ['files'] })).findings).toMatchObject([
      { check: 'files', severity: 'error', file, detail: expect.stringMatching(detail) },
    ])
  })

  it('do not hide a listed stock without any candle if there is no record', async () => {
    const folder = copyOf(clean)
    for (const file of ['full-run.json', 'output-digests', 'report.json'])
      folder.remove(`.scripstream/${file}`)
    folder.remove(`ohlcv_data/${names.a}.csv`)
    folder.put(
      `ohlcv_data/${names.b}.csv`,
      folder
        .text(`ohlcv_data/${names.b}.csv`)
        .slice(0, folder.text(`ohlcv_data/${names.b}.csv`).indexOf('\n') + 1),
    )
    const { findings } = await verified(folder)
    expect(findings.map(({ check, symbol, detail }) => [check, symbol, detail])).toEqual([
      ['stale-symbols', names.a, 'it has no candles'],
      ['stale-symbols', names.b, 'it has no candles'],
    ])
  })
})

describe('the options of a verification', () => {
  const twoFaults = (): OutputFolder => {
    const folder = copyOfAnother()
    change(folder, names.a, (all) => [...all, ...all.slice(-1)])
    change(folder, names.b, (all) => all.toSpliced(800, 1))
    return folder
  }

  it('select some of the checks, or some of the stocks', async () => {
    const folder = twoFaults()
    const gists = async (changes: Parameters<typeof verified>[1]) =>
      (await verified(folder, changes)).findings.map(gist)
    expect(await gists({})).toEqual([
      `duplicate-candles error ${names.a}`,
      `missing-sessions warning ${names.b}`,
    ])
    expect(await gists({ only: ['missing-sessions'] })).toEqual([`missing-sessions warning ${names.b}`])
    expect(await gists({ symbols: [names.a.toLowerCase()] })).toEqual([`duplicate-candles error ${names.a}`])
    expect(await gists({ symbols: [names.c] })).toEqual([])
  })

  it('include findings about a pair of stocks for either of the two', async () => {
    const folder = copyOfAnother()
    change(folder, names.a, (all) => continued(all, folder.candles(names.b), 1))
    for (const symbol of [names.a, names.b]) {
      const { findings, passed } = await verified(folder, { symbols: [symbol], only: ['spliced-series'] })
      expect(findings).toMatchObject([{ check: 'spliced-series', symbol: names.a, other: names.b }])
      expect(passed).toHaveLength(1)
    }
    expect((await verified(folder, { symbols: [names.c], only: ['spliced-series'] })).findings).toEqual([])
  })

  it('include the missing files of selected stocks, and no others', async () => {
    const folder = copyOf(clean)
    const { symbol, file } = someFiling(folder)
    const other = symbol === names.c ? names.b : names.c
    folder.remove(file)
    expect((await verified(folder, { symbols: [symbol] })).findings).toMatchObject([
      { check: 'files', severity: 'error', file },
    ])
    expect((await verified(folder, { symbols: [other] })).findings).toEqual([])
  })

  it('report no leftovers if the list itself is truncated', async () => {
    const folder = copyOf(clean)
    folder.put('all_indices_list.json', folder.text('all_indices_list.json').slice(0, 3_000))
    expect((await verified(folder, { only: ['files', 'leftovers'] })).findings).toMatchObject([
      { check: 'files', file: 'all_indices_list.json' },
    ])
  })

  it('set the allowed number of findings', async () => {
    const folder = twoFaults()
    const passed = async (limits: Record<string, number>) => (await verified(folder, { limits })).passed
    expect(await passed({ errors: 1, warnings: 1, 'missing-sessions': 1 })).toEqual([])
    expect(await passed({ errors: 1, 'missing-sessions': 0 })).toEqual([
      { limit: 'missing-sessions', allowed: 0, found: 1 },
    ])
    expect(await passed({ errors: 0, warnings: 0 })).toEqual([
      { limit: 'errors', allowed: 0, found: 1 },
      { limit: 'warnings', allowed: 0, found: 1 },
    ])
  })

  it('are all but the files left out while the master list is damaged', async () => {
    const folder = copyOfAnother()
    writeFileSync(join(folder.path, 'master_isin_map.json'), '[{')
    writeFileSync(join(folder.path, 'fundamental_data.json'), '[{')
    const { findings, gone, passed } = await verified(folder, { symbols: [names.a], limits: { errors: 0 } })
    expect(findings.map(({ check, severity, file }) => [check, severity, file])).toEqual(
      expect.arrayContaining([
        ['files', 'error', 'master_isin_map.json'],
        ['files', 'error', 'fundamental_data.json'],
      ]),
    )
    expect(findings.filter(({ check }) => check !== 'files')).toEqual([])
    expect([gone, passed]).toEqual([[], [{ limit: 'errors', allowed: 0, found: findings.length }]])
  })

  it('are rejected for a symbol that is not listed, and for a folder without a market', async () => {
    await expect(verified(outputFolder(clean), { symbols: [`${names.a}X`] })).rejects.toThrow(UsageError)
    await expect(verified(outputFolder(join(clean, 'none')))).rejects.toMatchObject({
      code: 'no-outputs',
      message: expect.stringContaining('there is no folder'),
    })
    const folder = temporaryFolder()
    await expect(verified(outputFolder(folder))).rejects.toThrow(/has no master list/)
    symlinkSync('master_isin_map.json', join(folder, 'master_isin_map.json'))
    await expect(verified(outputFolder(folder))).rejects.toThrow(
      /master_isin_map\.json cannot be read: ELOOP/,
    )
    await expect(verified(outputFolder(join(clean, 'ohlcv_data')))).rejects.toThrow(UsageError)
  })
})

describe('a folder of a few stocks', () => {
  const few = async (withIndices: boolean): Promise<OutputFolder> => {
    const folder = copyOfAnother()
    folder.putRows('master_isin_map.json', folder.rows('master_isin_map.json').slice(0, 3))
    for (const file of [
      'fundamental_data.json',
      'advanced_indicator_data.json',
      'all_company_announcements.json',
    ])
      folder.putRows(file, [])
    if (!withIndices) folder.remove('ohlcv_data/indices')
    return folder
  }
  const steady = (folder: OutputFolder): string => String(folder.rows('master_isin_map.json')[0]?.Symbol)

  it('uses the sessions of the indices', async () => {
    const folder = await few(true)
    change(folder, steady(folder), (all) => all.toSpliced(-30, 1))
    expect((await verified(folder, { only: ['missing-sessions', 'odd-days'] })).findings.map(gist)).toEqual([
      `missing-sessions warning ${steady(folder)}`,
    ])
  })

  it('notes that too few series show which days were sessions', async () => {
    const folder = await few(false)
    change(folder, steady(folder), (all) => all.toSpliced(-30, 1))
    const { findings, notes } = await verified(folder, { only: ['missing-sessions', 'odd-days'] })
    expect({ findings, notes }).toEqual({
      findings: [],
      notes: ['missing sessions: the candles of 3 stocks, without indices, are too few; fetch indices-ohlcv'],
    })
  })
})
