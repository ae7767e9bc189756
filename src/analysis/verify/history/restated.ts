import type { Day } from '../../../model/trading-day.js'
import type { SplitRow } from '../../../storage/history/row-facts.js'
import type { Values } from '../../../storage/history/rows.js'
import { compareFigures, RESULT_TABLES, type RestatedFigure } from '../../diff/result-changes.js'
import type { Finding } from '../finding.js'
import { isMany, type ListCheck, nameFirst, readToken } from './list-check.js'

/** A smaller change of a figure is good to know. */
const MIN_WARNING = 0.1

const MAX_FIGURES = 2

/** The quarterly results of a stock: the texts of the columns, by place. */
interface Results {
  readonly isin: string
  readonly symbol: string
  readonly paths: SplitRow['paths']
  readonly texts: ReadonlyMap<number, string>
}

interface Restatement {
  readonly symbol: string
  readonly before: Day
  readonly day: Day
  readonly figures: readonly RestatedFigure[]
}

/** Finds quarterly figures that differ from those of the recorded day before, by stock and quarter. */
export const checkFigures = (file: string): ListCheck => {
  const results: Results[] = []
  const known = new Map<string, number>()
  const last = new Map<string, { readonly fact: number; readonly day: Day }>()
  const days: { readonly stocks: number; readonly restated: readonly Restatement[] }[] = []

  const compare = (fact: number, day: Day): readonly Restatement[] => {
    const now = results[fact] as Results
    const earlier = last.get(now.isin)
    last.set(now.isin, { fact, day })
    if (earlier === undefined || earlier.fact === fact) return []
    const figures = compareResults(now, results[earlier.fact] as Results)
    return figures.length === 0 ? [] : [{ symbol: now.symbol, before: earlier.day, day, figures }]
  }

  return {
    find: (row) => results.push(readResults(row)) - 1,
    change: (fact, values) => {
      const before = results[fact] as Results
      const changed = [...before.texts.keys()].filter((place) => values.has(place))
      if (changed.length === 0) return fact
      const key = JSON.stringify([fact, changed.map((place) => [place, values.get(place)])])
      const number = known.get(key) ?? results.push({ ...before, texts: replaceTexts(before.texts, values) }) - 1
      known.set(key, number)
      return number
    },
    addDay: (day, facts) => void days.push({ stocks: facts.length, restated: [...facts].flatMap((fact) => compare(fact, day)) }),
    finish: () => days.flatMap(({ stocks, restated }) => describeDay(file, restated, stocks)),
  }
}

const isFigureColumn = (path: string | undefined): boolean => RESULT_TABLES.some((name) => path?.startsWith(`${name}.`))

const readResults = ({ parts, paths }: SplitRow): Results => {
  const texts = new Map<number, string>()
  const read = (name: string): string => readToken(parts[paths.indexOf(name)] ?? '')
  paths.forEach((path, place) => {
    if (isFigureColumn(path)) texts.set(place, readToken(parts[place] as string))
  })
  return { isin: read('ISIN'), symbol: read('Symbol'), paths, texts }
}

const replaceTexts = (texts: Results['texts'], values: Values): Results['texts'] =>
  new Map([...texts].map(([place, text]) => [place, values.has(place) ? readToken(values.get(place) as string) : text]))

const compareResults = (now: Results, before: Results): readonly RestatedFigure[] =>
  RESULT_TABLES.flatMap((name) => compareFigures(toTable(now, name), toTable(before, name)))

const toTable = ({ paths, texts }: Results, name: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...texts].flatMap(([place, text]) => {
      const path = paths[place] ?? ''
      return path.startsWith(`${name}.`) ? [[path.slice(name.length + 1), text] as const] : []
    }),
  )

/** A finding for each stock; one about the day if there are many: then the provider may have changed a unit. */
const describeDay = (file: string, restated: readonly Restatement[], stocks: number): readonly Finding[] => {
  const findings = restated.map(({ symbol, before, day, figures }): Finding => {
    const texts = figures.map(({ name, from, to }) => `${name} was ${from} on ${before} and is ${to} on ${day}`)
    const severity = figures.some(isLarge) ? 'warning' : 'info'
    return { check: 'restated-figures', severity, symbol, day, file, detail: nameFirst(texts, MAX_FIGURES) }
  })
  const [first] = findings
  if (first === undefined || !isMany(findings.length, stocks)) return findings
  const { symbol: _, ...about } = first
  const severity = findings.some((finding) => finding.severity === 'warning') ? 'warning' : 'info'
  const symbols = nameFirst(restated.map(({ symbol }) => symbol))
  return [
    { ...about, severity, detail: `${findings.length} of ${stocks} stocks are restated, ${symbols}; ${first.symbol}: ${first.detail}` },
  ]
}

const isLarge = ({ from, to }: RestatedFigure): boolean => Math.abs(Number(to) - Number(from)) > MIN_WARNING * Math.abs(Number(from))
