import { isRow, type Row, textOf } from '../model/row.js'
import type { Change } from './change.js'

/** The rows of a list before the last run and now. */
export interface Lists {
  readonly before: readonly Row[]
  readonly after: readonly Row[]
}

/** Stocks that came under surveillance, left it, or changed their stage. `list` is a name such as ASM. */
export const surveillanceChanges = (list: string, { before, after }: Lists): readonly Change[] => {
  const old = new Map(before.map((row) => [stockIn(row), row]))
  const now = new Set(after.map(stockIn))
  const entered = after.flatMap((row): Change[] => {
    const [symbol, to] = [textOf(row.Symbol), textOf(row.Stage)]
    const earlier = old.get(stockIn(row))
    const from = textOf(earlier?.Stage)
    if (earlier === undefined) return [{ section: 'surveillance', change: 'entered', symbol, to, detail: `is in ${list} now: ${to}` }]
    return from === to
      ? []
      : [{ section: 'surveillance', change: 'changed', symbol, from, to, detail: `moves in ${list} from ${from} to ${to}` }]
  })
  const left = before
    .filter((row) => !now.has(stockIn(row)))
    .map((row): Change => {
      const from = textOf(row.Stage)
      return { section: 'surveillance', change: 'left', symbol: textOf(row.Symbol), from, detail: `left ${list}, where it was in ${from}` }
    })
  return [...entered, ...left]
}

const stockIn = (row: Row): string => textOf(row.ISIN) || textOf(row.Symbol)

/** Bands that changed in the list of all bands, and changes that only the exchange's own list of changes has. */
export const bandChanges = (complete: Lists, announced: Lists): readonly Change[] => {
  const old = new Map(complete.before.map((row) => [securityIn(row), textOf(row.Band)]))
  const seen = complete.after.flatMap((row) => {
    const [from, to] = [old.get(securityIn(row)), textOf(row.Band)]
    return from === undefined || from === to ? [] : [{ key: securityIn(row), change: bandChange(row, from, to) }]
  })
  const known = new Set([...seen.map(({ key }) => key), ...announced.before.map(announcementIn)])
  const only = announced.after.filter((row) => !known.has(securityIn(row)) && !known.has(announcementIn(row)))
  return [...seen.map(({ change }) => change), ...only.map((row) => bandChange(row, textOf(row.From), textOf(row.To)))]
}

const securityIn = (row: Row): string => `${textOf(row.Symbol)} ${textOf(row.Series)}`
const announcementIn = (row: Row): string => `${securityIn(row)} ${textOf(row.From)} ${textOf(row.To)}`

const bandChange = (row: Row, from: string, to: string): Change => {
  const series = textOf(row.Series)
  const named = (band: string): string => (/^[\d.]+$/.test(band) ? `${band} %` : band.toLowerCase())
  const detail = `from ${named(from)} to ${named(to)}${series === 'EQ' ? '' : ` (series ${series})`}`
  return { section: 'bands', change: 'changed', symbol: textOf(row.Symbol), from, to, detail }
}

/** Stocks that reached the upper or lower limit, or left it. */
export const circuitChanges = (side: string, { before, after }: Lists): readonly Change[] => {
  const [old, now] = [symbolsIn(before), symbolsIn(after)]
  const changed = (change: 'entered' | 'left', symbol: string): Change => ({
    section: 'circuits',
    change,
    symbol,
    detail: change === 'entered' ? `is at its ${side} limit` : `left its ${side} limit`,
  })
  return [
    ...[...now].filter((symbol) => !old.has(symbol)).map((symbol) => changed('entered', symbol)),
    ...[...old].filter((symbol) => !now.has(symbol)).map((symbol) => changed('left', symbol)),
  ]
}

const symbolsIn = (rows: readonly Row[]): ReadonlySet<string> => new Set(rows.map(({ Symbol: symbol }) => textOf(symbol)))

/** New deals. Deals that are gone do not count: the list covers the last 30 days. */
export const newDeals = ({ before, after }: Lists): readonly Change[] => {
  const keyOf = ({ sym, date, qty, avgprice, bs, cname }: Row): string => JSON.stringify([sym, date, qty, avgprice, bs, cname])
  const old = new Set(before.map(keyOf))
  return after
    .filter((row) => !old.has(keyOf(row)))
    .map((row) => {
      const side = textOf(row.bs) === 'S' ? 'sold' : 'bought'
      const kind = textOf(row.deal).toLowerCase()
      const detail = `${textOf(row.cname)} ${side} ${textOf(row.qty)} at ${textOf(row.avgprice)} on ${textOf(row.date).slice(0, 10)}${kind === '' ? '' : ` (${kind})`}`
      return { section: 'deals', change: 'new', symbol: textOf(row.sym), detail }
    })
}

/** Actions that were in neither list (upcoming, history) before. */
export const newActions = ({ before, after }: Lists): readonly Change[] => {
  const old = new Set(before.flatMap(actionsIn).map(({ key }) => key))
  const now = new Map(after.flatMap(actionsIn).map((action) => [action.key, action]))
  return [...now.values()]
    .filter(({ key }) => !old.has(key))
    .map(({ symbol, detail }) => ({ section: 'actions', change: 'new', symbol, detail }))
}

const actionsIn = (row: Row) =>
  [row.CorpAct]
    .flat()
    .filter(isRow)
    .map(({ ActType, ExDate, RecDate, ActDate, Note }) => {
      const [symbol, on] = [textOf(row.Sym), textOf(ExDate) || textOf(RecDate) || textOf(ActDate)]
      const note = textOf(Note)
      const detail = `${textOf(ActType).toLowerCase()}${note === '' || note === 'NA' ? '' : ` of ${note}`} on ${on}`
      return { key: `${symbol}\n${detail}`, symbol, detail }
    })
