import { type Row, readText } from '../../../model/row.js'
import type { Day } from '../../../model/trading-day.js'
import { compareFigures, RESULT_TABLES, type RestatedFigure } from '../../diff/result-changes.js'
import type { Finding } from '../finding.js'
import { isMany, type ListCheck, nameFirst } from './list-check.js'

/** A smaller change of a figure is good to know. */
const MIN_WARNING = 0.1

const MAX_FIGURES = 2

interface Restatement {
  readonly symbol: string
  readonly before: Day
  readonly day: Day
  readonly figures: readonly RestatedFigure[]
}

/** Finds quarterly figures that differ from those of the recorded day before, by stock and quarter. */
export const checkFigures = (file: string): ListCheck => {
  const last = new Map<string, { readonly record: Row; readonly day: Day }>()
  const days: { readonly stocks: number; readonly restated: readonly Restatement[] }[] = []

  const compare = (record: Row, day: Day): readonly Restatement[] => {
    const isin = readText(record.ISIN)
    const earlier = last.get(isin)
    last.set(isin, { record, day })
    if (earlier === undefined || earlier.record === record) return []
    const figures = RESULT_TABLES.flatMap((name) => compareFigures(record[name], earlier.record[name]))
    return figures.length === 0 ? [] : [{ symbol: readText(record.Symbol), before: earlier.day, day, figures }]
  }

  return {
    addDay: (day, records) => void days.push({ stocks: records.length, restated: records.flatMap((record) => compare(record, day)) }),
    finish: () => days.flatMap(({ stocks, restated }) => describeDay(file, restated, stocks)),
  }
}

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
