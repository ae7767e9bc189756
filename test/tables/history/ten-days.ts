import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Day, toInstant } from '../../../src/model/trading-day.js'
import { temporaryFolder } from '../../support/folders.js'
import { HISTORY, recordRun, type TestRun } from '../../support/recorded-run.js'

/**
 * Ten sessions of a market of 30 stocks. What is different on which day is written below; everything else
 * stays.
 */
export const DAYS: readonly Day[] = [2, 3, 4, 5, 6, 9, 10, 11, 12, 13].map(
  (date) => `2026-02-${String(date).padStart(2, '0')}`,
)
/** No run collected this day. */
export const MISSED = 4
/** Three runs collected this day. The first one, during the session, and the last one found other stages. */
export const TWICE = 6
/** This day was collected after all others but the last, on demand (`recordLate`). */
export const LATE = 2
/** The `Pe` of all stocks is null from this day on, and the deals fail. */
export const DEAD = 7
/** The list of stocks at their upper circuit is the same from this day on. */
export const STANDSTILL = 6

/** The checks that find something in these days; each needs more than one. */
export const HISTORY_CHECKS = [
  'dead-columns',
  'unchanged-lists',
  'restated-figures',
  'blinking-members',
  'failing-streams',
] as const

export const RECORDED = DAYS.filter((_, index) => index !== MISSED)

interface Listed {
  readonly Symbol: string
  readonly ISIN: string
}

const isinOf = (stock: number): string => `INE0000000${String(stock).padStart(2, '0')}`

/**
 * Stock 7 is away for two days, 8 leaves, 30 is new, 5 gets another name; 9 is away only on the missed day.
 */
export const listOn = (index: number): readonly Listed[] =>
  Array.from({ length: 31 }, (_, stock) => stock)
    .filter(
      (stock) =>
        !(
          (stock === 7 && [2, 3].includes(index)) ||
          (stock === 8 && index >= 7) ||
          (stock === 30 && index < 6)
        ),
    )
    .filter((stock) => !(stock === 9 && index === MISSED))
    .map((stock) => ({ Symbol: stock === 5 && index >= 3 ? 'RENAMED' : `S${stock}`, ISIN: isinOf(stock) }))

/** The stage of a stock; some days none. Stock 1 is away from the list on one recorded day. */
export const stageOn = (stock: number, index: number): string | undefined => {
  if (stock === 1) return index === 3 ? undefined : 'LTASM - I'
  if (stock === 11) return index < 2 ? 'GSM - 0' : 'GSM - I'
  return stock === 2 && index >= 5 ? 'LTASM - II' : stock === 2 ? 'LTASM - I' : undefined
}

/**
 * Sales of two quarters: those of stock 3 shrink to a tenth, those of stock 4 are 5 % larger, stock 6
 * publishes a new quarter.
 */
export const salesOn = (
  stock: number,
  index: number,
): readonly (readonly [quarter: string, sales: string])[] => {
  const older = stock === 3 && index >= 5 ? '196.0' : stock === 4 && index >= 8 ? '2058' : '1960.0'
  return [
    ...(stock === 6 && index >= 8 ? [['202603', '9']] : []),
    ['202512', `${2_000 + stock}`],
    ['202509', older],
  ] as [string, string][]
}

/** The split of stock 10, in the list of actions from its day on, with the replaced candles. */
export const SPLIT = 6

const writeList = (root: string, file: string, rows: readonly object[]): void =>
  writeFileSync(join(root, file), `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`)

/** Writes the lists of a day, and candles until `clock`. */
export const storeDay = (
  root: string,
  index: number,
  { stage = stageOn, sessions = DAYS.slice(0, index + 1) as readonly Day[] } = {},
): void => {
  const stocks = listOn(index)
  const listStages = (all: readonly number[]): readonly object[] =>
    all.flatMap((stock) => {
      const Stage = stage(stock, index)
      return Stage === undefined ? [] : [{ Symbol: `S${stock}`, ISIN: isinOf(stock), Stage }]
    })
  const actions = [{ ActType: 'SPLIT', ExDate: DAYS[SPLIT], RecDate: DAYS[SPLIT], Note: '10:1' }]
  writeList(root, 'master_isin_map.json', stocks)
  writeList(
    root,
    'master_data_response.json',
    stocks.map(({ Symbol: Sym, ISIN: Isin }, rank) => ({
      Isin,
      Sym,
      Pe: index >= DEAD ? null : rank + 0.5,
      volume: rank + index,
    })),
  )
  writeList(root, 'nse_asm_list.json', listStages([1, 2]))
  writeList(root, 'nse_gsm_list.json', listStages([11]))
  writeList(root, 'all_indices_list.json', [
    { Sym: 'NIFTY', Sid: 13, Exch: 'IDX', Seg: 'I', Inst: 'IDX', Ltp: 25_000 + index },
  ])
  writeList(root, 'upper_circuit_stocks.json', [{ Symbol: 'S12', LTP: 100 + Math.min(index, STANDSTILL) }])
  writeList(root, 'history_corporate_actions.json', index < SPLIT ? [] : [{ Sym: 'S10', CorpAct: actions }])
  writeList(
    root,
    'fundamental_data.json',
    stocks.map((stock) => {
      const sales = salesOn(Number(stock.ISIN.slice(-2)), index)
      const YEAR = sales.map(([quarter]) => quarter).join('|')
      return {
        ...stock,
        incomeStat_cq: { YEAR, SALES: sales.map(([, figure]) => figure).join('|') },
        CV: { PE: String(index) },
      }
    }),
  )
  const candles = sessions.map((day) => `${toInstant(day) / 1_000},1,1,1,1,1\n`)
  mkdirSync(join(root, 'ohlcv_data', 'indices'), { recursive: true })
  writeFileSync(
    join(root, 'ohlcv_data', 'indices', 'A.csv'),
    `Timestamp,Open,High,Low,Close,Volume\n${candles.join('')}`,
  )
  writeList(root, 'bulk_block_deals.json', [
    { date: `${DAYS[index]} 00:00:00`, isin: isinOf(1), sym: 'S1', qty: index },
  ])
}

/**
 * Records the files of the folder as a run does that finds the market of a day, and adds the run to the log.
 */
export const recordIndex = async (root: string, index: number, run: Partial<TestRun> = {}): Promise<void> => {
  const scripts = {
    ...(index >= DEAD
      ? { 'bulk-block-deals': { outcome: 'failed', error: 'the provider answers 404' } }
      : {}),
    ...(index === SPLIT
      ? { 'all-ohlcv': { outcome: 'success', rewritten: [{ item: 'S10', reason: 'a split of 10:1' }] } }
      : {}),
  }
  const line = await recordRun(root, { day: DAYS[index] as Day, time: '20:30', scripts, ...run })
  appendFileSync(join(root, '.scripstream', 'runs.ndjson'), `${line}\n`)
}

const LATE_RUN: Partial<TestRun> = {
  asOf: DAYS[LATE] as Day,
  day: '2026-02-13',
  time: '13:30',
  request: { ...HISTORY, isLateAllowed: true },
}

/** When a day was collected, India time. */
export const knownAt = (index: number): string =>
  index === LATE ? '2026-02-13 13:30:00' : `${DAYS[index]} 20:30:00`

/** A folder with the ten days, as the runs left it. */
export const collectTenDays = async (root = temporaryFolder()): Promise<string> => {
  mkdirSync(join(root, '.scripstream'))
  for (const index of [0, 1, 3, 5, TWICE, 7, 8, LATE, 9]) {
    if (index === TWICE) {
      storeDay(root, index, { stage: () => 'a stage during the session' })
      await recordIndex(root, index, { time: '11:00' })
    }
    storeDay(root, index, index === LATE ? { sessions: DAYS } : {})
    await recordIndex(root, index, index === LATE ? LATE_RUN : {})
    if (index === TWICE) {
      storeDay(root, index, { stage: () => 'a stage of another provider' })
      await recordIndex(root, index, { time: '21:00' })
    }
  }
  return root
}
