import { type Change, SECTIONS, type Section, sectionNames } from '../model/change.js'
import { UsageError } from '../model/errors.js'
import { type Day, formatMinute } from '../model/trading-day.js'
import type { Difference } from '../tables/changes/diff.js'
import { defineCommand } from './command.js'
import {
  checkDay,
  dayOption,
  folderFlags,
  jsonFlag,
  namesOption,
  readSymbols,
  symbolsOption,
} from './options.js'
import { type AnswerLine, listFirst, titledPart } from './terminal/terminal.js'
import { clean, formatCount, formatQuantity } from './terminal/text.js'

export const addDiff = defineCommand({
  name: 'diff',
  about: 'Shows what the last run changed: listings, surveillance, bands, circuits, deals, filings.',
  args: [
    ['[day]', 'compare this recorded day (YYYY-MM-DD) ...'],
    ['[other]', '... with this later one'],
  ],
  flags: () => ({
    since: dayOption('--since <day>', 'compare this recorded day with the present'),
    ...folderFlags(),
    only: namesOption('--only', 'only these kinds of changes', {
      what: 'kind',
      known: sectionNames,
      listedBy: '"scripstream diff --help"',
    }),
    symbols: symbolsOption(),
    json: jsonFlag('print all changes as JSON on stdout'),
  }),
  examples: [
    ['scripstream diff', 'what the last run into ./data changed'],
    ['scripstream diff --since 2026-02-02', 'what changed since that day'],
    ['scripstream diff 2026-02-02 2026-02-09', 'what changed between two recorded days'],
    ['scripstream diff --only surveillance,bands,circuits', 'only these kinds of changes'],
  ],
  notes: ['Kinds:', ...sectionNames.map((name) => `  ${name}: ${SECTIONS[name]}`)],
  run: async ({ only, symbols, since }, { typed: [day, other], settings, dependencies: { streams } }) => {
    const days = chooseDays(since, day, other)
    const { out, exchange, watchlists } = settings()
    const { diff } = await import('../tables/changes/diff.js')
    const difference = await diff(out, {
      streams,
      exchange,
      only,
      ...readSymbols(symbols, { watchlists }),
      ...days,
    })
    return { json: difference, lines: () => changeLines(difference) }
  },
})

const chooseDays = (
  since?: Day,
  day?: string,
  other?: string,
): { readonly since: Day; readonly until?: Day | undefined } | undefined => {
  if (day === undefined) return since === undefined ? undefined : { since }
  if (since !== undefined) throw new UsageError('diff: give two days or --since, not both')
  const first = checkDay('diff', day)
  if (other === undefined)
    throw new UsageError(`diff: ${day} needs a second day; to compare it with the present: --since ${day}`)
  return { since: first, until: checkDay('diff', other) }
}

const MAX_CHANGES_SHOWN = 8

const changeLines = (difference: Difference): readonly AnswerLine[] => {
  const { folder, run, asOf, since, counts, changes, notes } = difference
  if (since === null) {
    const why =
      run === undefined
        ? 'no run has finished here yet'
        : `run ${run} is the first here, or earlier runs were not recorded`
    return [`Nothing to compare in ${folder}: ${why}. The next run can be compared.`, ...notes]
  }
  const kinds = (Object.entries(counts) as [Section, number][]).filter(([, number]) => number > 0)
  const sums = kinds.map(([kind, number]) => `${kind} ${formatCount(number)}`).join(', ')
  const asOfText = (instant: string | undefined): string =>
    instant === undefined ? '' : `, as of ${formatMinute(Date.parse(instant))}`
  const runs = `run ${run}${asOfText(asOf)}${asOf === undefined ? '' : ','} compared with run ${since.run}${asOfText(since.asOf)}`
  const what = since.day === undefined ? runs : `${difference.day ?? 'now'} compared with ${since.day}`
  return [
    `${kinds.length === 0 ? 'No change' : formatQuantity(changes.length, 'change')} in ${folder}: ${what}.`,
    ...(kinds.length === 0 ? [] : [`  ${sums}`]),
    ...kinds.flatMap(([kind]) => kindLines(kind, changes)),
    ...titledPart(
      'Not compared',
      notes.map((note) => `  ${note}`),
    ),
  ]
}

const kindLines = (kind: Section, changes: readonly Change[]): readonly AnswerLine[] => [
  '',
  [[kind, 'bold'], [`: ${SECTIONS[kind]}`]] as const,
  ...listFirst(
    changes.filter((change) => change.section === kind),
    MAX_CHANGES_SHOWN,
    ({ symbol, detail }) => `  ${clean(symbol)}: ${detail}`,
    (rest) => `  and ${formatCount(rest)} more (--json shows all)`,
  ),
]
