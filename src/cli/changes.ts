import { type Change, SECTIONS, type Section } from '../analysis/diff/change.js'
import type { Difference } from '../analysis/diff/diff.js'
import { formatMinute } from '../model/trading-day.js'
import { formatCount, formatQuantity } from './format.js'
import type { TextLine } from './terminal.js'
import { clean, wrap } from './text.js'

/** Changes shown of each kind; `--json` has all. */
const MAX_CHANGES_SHOWN = 8

/** Formats the changes for people: kind by kind, the first few of each. */
export const changeLines = (difference: Difference, columns: number): readonly TextLine[] => {
  const { folder, run, asOf, since, counts, changes, notes } = difference
  const plain = (text: string): readonly TextLine[] => wrap(text, columns).map((line): TextLine => [[line]])
  if (since === null) {
    const why = run === undefined ? 'no run has finished here yet' : `run ${run} is the first here, or earlier runs were not recorded`
    return plain(`Nothing to compare in ${clean(folder)}: ${clean(why)}. The next run can be compared.`)
  }
  const kinds = (Object.entries(counts) as [Section, number][]).filter(([, number]) => number > 0)
  const sums = kinds.map(([section, number]) => `${section} ${formatCount(number)}`).join(', ')
  const asOfText = (instant: string | undefined): string => (instant === undefined ? '' : `, as of ${formatMinute(Date.parse(instant))}`)
  const what = `run ${run}${asOfText(asOf)}${asOf === undefined ? '' : ','} compared with run ${since.run}${asOfText(since.asOf)}`
  return [
    ...plain(`${kinds.length === 0 ? 'No change' : formatQuantity(changes.length, 'change')} in ${clean(folder)}: ${clean(what)}.`),
    ...(kinds.length === 0 ? [] : plain(`  ${sums}`)),
    ...kinds.flatMap(([section]) => sectionLines(section, changes, columns)),
    ...(notes.length === 0 ? [] : [[], [['Not compared', 'bold'] as const], ...notes.flatMap((note) => plain(`  ${clean(note)}`))]),
  ]
}

const sectionLines = (section: Section, changes: readonly Change[], columns: number): readonly TextLine[] => {
  const own = changes.filter((change) => change.section === section)
  const rest = own.length - MAX_CHANGES_SHOWN
  const lines = [
    ...own.slice(0, MAX_CHANGES_SHOWN).map(({ symbol, detail }) => `  ${clean(symbol)}: ${clean(detail)}`),
    ...(rest > 0 ? [`  and ${formatCount(rest)} more (--json shows all)`] : []),
  ]
  const [title = '', ...more] = wrap(`${section}: ${SECTIONS[section]}`, columns)
  return [
    [],
    [[section, 'bold'], [title.slice(section.length)]],
    ...[...more, ...lines.flatMap((line) => wrap(line, columns))].map((line): TextLine => [[line]]),
  ]
}
