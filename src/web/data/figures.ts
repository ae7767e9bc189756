import { isRow, omitUndefined, type Row, readText } from '../../model/row.js'
import type { Holding, Quarter } from '../api/stock.js'
import { toNumber } from './market-lists.js'

/** One period of a block of figures: by name in capitals, the texts of that place. */
type Figures = ReadonlyMap<string, string>

/** The periods of a block such as `{"SALES":"12|11","YEAR":"202512|202509"}`, newest first. */
const readPeriods = (block: unknown): readonly Figures[] => {
  if (!isRow(block)) return []
  const columns = Object.entries(block).map(([name, texts]) => [name.toUpperCase(), readText(texts).split('|')] as const)
  const most = Math.min(MAX_PERIODS, Math.max(0, ...columns.map(([, cells]) => cells.length)))
  return Array.from({ length: most }, (_, place) => new Map(columns.map(([name, cells]) => [name, cells[place] ?? ''])))
}

const MAX_PERIODS = 40

const pick = (figures: Figures, name: string): number | undefined => toNumber(figures.get(name))

/** The last day of a month in the form YYYYMM. */
const toMonthEnd = (text = ''): string | undefined => {
  const [, year, month] = /^\s*(\d{4})(0[1-9]|1[0-2])\s*$/.exec(text) ?? []
  return year === undefined || month === undefined
    ? undefined
    : new Date(Date.UTC(Number(year), Number(month), 0)).toISOString().slice(0, 10)
}

/** `Q3 FY26`: the quarter of the financial year from April to March. */
const nameQuarter = (day: string): string => {
  const [year = 0, month = 0] = day.split('-').map(Number)
  return `Q${Math.floor(((month + 8) % 12) / 3) + 1} FY${String(month > 3 ? year + 1 : year).slice(-2)}`
}

/** Growth in percent; undefined after a loss, with which it says nothing. */
const grow = (now: number | undefined, before: number | undefined): number | undefined =>
  now === undefined || before === undefined || before <= 0 ? undefined : 100 * (now / before - 1)

const BLOCKS = [
  ['consolidated', 'incomeStat_cq'],
  ['standalone', 'incomeStat_sq'],
] as const

/** The results by quarter, newest first: consolidated ones, or standalone ones if there are no others. */
export const readQuarters = (fundamentals: Row): { readonly basis?: 'consolidated' | 'standalone'; readonly rows: readonly Quarter[] } => {
  for (const [basis, name] of BLOCKS) {
    const rows = readPeriods(fundamentals[name]).flatMap(toQuarter)
    if (rows.length > 0) return { basis, rows: rows.map((row) => addGrowth(row, rows)) }
  }
  return { rows: [] }
}

const toQuarter = (figures: Figures): readonly Quarter[] => {
  const day = toMonthEnd(figures.get('YEAR'))
  if (day === undefined) return []
  const quarter = { quarter: nameQuarter(day), day }
  return [
    omitUndefined({
      ...quarter,
      salesCr: pick(figures, 'SALES'),
      profitCr: pick(figures, 'NET_PROFIT'),
      marginPct: pick(figures, 'OPM'),
      eps: pick(figures, 'EPS'),
    }),
  ]
}

const addGrowth = (row: Quarter, all: readonly Quarter[]): Quarter => {
  const before = all.find(({ day }) => day.slice(0, 7) === `${Number(row.day.slice(0, 4)) - 1}${row.day.slice(4, 7)}`)
  return omitUndefined({
    ...row,
    salesGrowthPct: grow(row.salesCr, before?.salesCr),
    profitGrowthPct: grow(row.profitCr, before?.profitCr),
  })
}

/** The shareholding by quarter, newest first. */
export const readShareholding = (fundamentals: Row): readonly Holding[] =>
  readPeriods(fundamentals.sHp)
    .map((figures) =>
      omitUndefined({
        day: toMonthEnd(figures.get('YEAR')),
        promoterPct: pick(figures, 'PROMOTER'),
        fiiPct: pick(figures, 'FII'),
        diiPct: pick(figures, 'DII'),
        publicPct: pick(figures, 'PUBLIC'),
      }),
    )
    .filter(({ promoterPct, fiiPct, diiPct, publicPct }) => [promoterPct, fiiPct, diiPct, publicPct].some((share) => share !== undefined))

/** Ratios, sector and industry; the case of the names varies from stock to stock. */
export const readRatios = (fundamentals: Row) => {
  const [ratios] = readPeriods(fundamentals.CV)
  const text = (name: string): string | undefined => ratios?.get(name)?.trim() || undefined
  return omitUndefined({
    sector: text('SECTOR'),
    industry: text('INDUSTRY_NAME'),
    roePct: ratios && pick(ratios, 'ROE'),
    rocePct: ratios && pick(ratios, 'ROCE'),
  })
}
