import { folderWith } from '../support.js'

/** Eight sessions in a row; 2026-02-07 is a Saturday without one. */
export const DAYS = [
  '2026-02-02',
  '2026-02-03',
  '2026-02-04',
  '2026-02-05',
  '2026-02-06',
  '2026-02-09',
  '2026-02-10',
  '2026-02-11',
] as const

export const ISIN = 'INE009A01021'

/** Prices without a jump, in rupees of the last day. */
export const PRICES: readonly number[] = [100, 101, 102, 103, 104, 105, 106, 107]

/** Prices as a provider stores them that did not divide those before an action. */
export const before = (index: number, factor: number): readonly number[] =>
  PRICES.map((price, place) => (place < index ? price * factor : price))

/** A line of a candle file. */
export const toLine = (day: string, price: number): string =>
  `${Date.parse(`${day}T00:00:00+05:30`) / 1000},${price},${price * 1.02},${price * 0.98},${price},1000`

export type ListedAction = readonly [type: string, day: string, note: string]

/** A folder with one stock: its closes day by day, and its corporate actions. */
export const market = (
  closes: readonly number[],
  actions: readonly ListedAction[],
  symbol = 'A',
  files: Readonly<Record<string, string | object>> = {},
): string =>
  folderWith({
    '.scripstream/report.json': { run: 'a', asOf: '2026-02-12T14:30:00.000Z', scripts: {} },
    'master_isin_map.json': [{ Symbol: 'A', ISIN, Name: 'A', Sid: '1', FnoFlag: 0 }],
    'history_corporate_actions.json': [
      {
        Sym: symbol,
        CorpAct: actions.map(([ActType, ExDate, Note]) => ({ ActType, ExDate, RecDate: ExDate, Note })),
      },
    ],
    'nse_asm_list.json': [{ Symbol: symbol, ISIN, Name: 'A', Stage: 'x' }],
    'ohlcv_data/A.csv': `Timestamp,Open,High,Low,Close,Volume\n${closes.map((close, index) => toLine(DAYS[index] as string, close)).join('\n')}\n`,
    ...files,
  })
