import { describeWrongSymbol } from '../../market/symbols.js'
import type { Status } from '../../model/errors.js'
import { formatPart, nameFirst } from '../../model/format.js'
import { groupBy } from '../../model/map.js'
import { isLost } from '../../model/outcome.js'
import type { Problem, RewrittenFile, RunReport, ScriptReport } from '../../model/report.js'
import { NOT_STARTED } from '../../model/run-stats.js'
import {
  countItems,
  countLost,
  describeStale,
  stripBrackets,
  wasStopped,
} from '../../model/script-figures.js'
import { listFirst } from '../terminal/terminal.js'
import { clean, formatCount, formatQuantity } from '../terminal/text.js'

const KEYS_SHOWN = 5
const WRONG_SYMBOLS_SHOWN = 8

/** What went wrong, by stream: how much, then each reason with its first symbols. */
export const problemLines = (report: RunReport): readonly string[] =>
  Object.entries(report.scripts)
    .map(([name, script]) => ({ name, script, sum: describeLostItems(script) }))
    .filter(({ sum }) => sum !== '')
    .flatMap(({ name, script, sum }) => {
      const summary = stripBrackets(sum)
      const others = script.problems.filter(
        (problem) => isItemLoss(problem) && !summary.includes(stripBrackets(clean(problem.reason))),
      )
      return [`  ${name}: ${sum}`, ...listReasons(others).map((line) => `    ${line}`)]
    })

export const staleLines = (report: Pick<RunReport, 'stale'>): readonly string[] =>
  describeStale(report).map((line) => `  ${clean(line)}`)

export const wrongSymbolLines = ({ wrongSymbols = [] }: RunReport): readonly string[] =>
  listFirst(
    wrongSymbols,
    WRONG_SYMBOLS_SHOWN,
    (wrong) =>
      `  ${clean(describeWrongSymbol(wrong))}${wrong.now === undefined ? ': not listed, nothing fetched' : ': fetched'}`,
    (rest) => `  and ${formatCount(rest)} more (--json names all)`,
  )

/** Warnings of streams, the stored files that were rewritten instead of extended, and notes of the run. */
export const warningLines = ({ scripts, notes = [] }: RunReport): readonly string[] => [
  ...Object.entries(scripts).flatMap(([name, { problems, rewritten = [] }]) =>
    [
      ...problems.filter((problem) => !isItemLoss(problem)).map(({ reason }) => clean(reason)),
      ...groupRewritten(rewritten),
    ].map((line) => `  ${name}: ${line}`),
  ),
  ...notes.map((note) => `  ${clean(note)}`),
]

export const earlierFailureLines = ({ missing = {}, scripts }: RunReport): readonly string[] => {
  // A run that fails at the master list has not even tried the other streams.
  const tried = Object.entries(missing).filter(([name]) => scripts[name]?.error !== NOT_STARTED)
  const whole = tried.flatMap(([name, items]) =>
    items === 'all' && scripts[name]?.outcome !== 'failed' ? [name] : [],
  )
  const parts = tried.flatMap(([name, items]) => {
    const script = scripts[name]
    const earlier =
      items === 'all' ? 0 : items - (script === undefined ? 0 : countLost(script) + script.degraded)
    return earlier > 0 ? [`  ${name}: ${formatQuantity(earlier, 'item')}`] : []
  })
  return whole.length === 0 ? parts : [...parts, `  all of ${whole.join(', ')}`]
}

/** One line per kind of reason: the full reason for one item, else the first items and their number. */
export const groupRewritten = (rewritten: readonly RewrittenFile[]): readonly string[] => {
  const kinds = groupBy(rewritten, ({ reason }) => reason.replace(/ \(.*\)| (?:of|on) \d{4}-\d\d-\d\d/g, ''))
  return [...kinds].map(([kind, all]) => {
    const named = nameFirst(
      all.map(({ item }) => clean(item)),
      KEYS_SHOWN,
    )
    return `${clean(all.length === 1 ? (all[0]?.reason ?? '') : kind)}: ${named}`
  })
}

/** Whether it is the loss of an item; the others are warnings. */
export const isItemLoss = ({ item, status }: Pick<Problem, 'item' | 'status'>): boolean =>
  item !== undefined || status !== undefined

const describeLostItems = (script: ScriptReport): string => {
  const lost = countLost(script)
  const statuses = Object.entries(script.items)
    .filter(([status, n]) => n > 0 && isLost({ status: status as Status }))
    .map(([status, n]) => `${formatCount(n)} ${status}`)
  return [
    ...(script.outcome === 'failed' && !wasStopped(script) ? [`failed: ${clean(script.error ?? '')}`] : []),
    ...(lost > 0 && !(script.outcome === 'failed' && countItems(script) === 1)
      ? [`${formatPart(lost, countItems(script), 'item')} lost (${statuses.join(', ')})`]
      : []),
    ...(script.degraded > 0 ? [`${formatQuantity(script.degraded, 'item')} incomplete`] : []),
  ].join('; ')
}

/** One line per kind of reason, with the excerpt of the first answer. */
export const listReasons = (problems: readonly Problem[], maxItems = KEYS_SHOWN): readonly string[] => {
  const kinds = groupBy(problems, ({ reason }) => stripBrackets(reason))
  return [...kinds.values()].map((same) => {
    const first = clean(same[0]?.reason ?? '')
    const named = same.flatMap(({ item = '' }) => (item === '' ? [] : [clean(item)]))
    const more = named.length > maxItems ? ' …' : ''
    return named.length === 0 ? first : `${first}: ${named.slice(0, maxItems).join(', ')}${more}`
  })
}
