import { defer, map, type Observable } from 'rxjs'
import { type Change, SECTIONS, type Section, sectionNames } from '../analysis/diff/change.js'
import type { Difference } from '../analysis/diff/diff.js'
import { UsageError } from '../model/errors.js'
import { type Day, formatMinute } from '../model/trading-day.js'
import type { AddCommand, Command } from './dependencies.js'
import { checkDay, dayOption, exampleText, type FolderFlags, namesOption } from './options.js'
import { resolveSettings } from './provider.js'
import { readSymbols, symbolsOption } from './symbols.js'
import { formatCount, formatQuantity } from './terminal/format.js'
import { printJson, printLines } from './terminal/print.js'
import { readSize, type TextLine, wrapLines, wrapTitled } from './terminal/terminal.js'
import { clean, wrap } from './terminal/text.js'

const examples = [
  ['scripstream diff', 'what the last run into ./data changed'],
  ['scripstream diff --since 2026-02-02', 'what changed since that day'],
  ['scripstream diff 2026-02-02 2026-02-09', 'what changed between two recorded days'],
  ['scripstream diff --only surveillance,bands,circuits', 'only these kinds of changes'],
  ['scripstream diff --symbols @watchlist.txt', 'only the stocks of a watchlist'],
  ['scripstream run && scripstream diff --json > changes.json', 'the daily run, then its changes as JSON'],
] as const

const DIFF_EXIT_CODES = `
Exit codes:
  0  done, with or without changes
  1  the folder cannot be read
  2  wrong usage or configuration
`

export const addDiff: AddCommand = (program, { io, dependencies, act }) => {
  const sectionsText = (): string =>
    [
      '',
      'Kinds:',
      ...sectionNames.flatMap((name) => [`  ${name}`, ...wrap(`      ${SECTIONS[name]}`, readSize(io.stdout).columns)]),
      '',
    ].join('\n')
  program
    .command('diff')
    .description('Shows what the last run changed: listings, surveillance, bands, circuits, deals, filings.')
    .argument('[day]', 'compare this recorded day (YYYY-MM-DD) ...')
    .argument('[other]', '... with this later one')
    .addOption(dayOption('--since <day>', 'compare this recorded day with the present'))
    .option('--out <dir>', 'output folder (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if present)')
    .addOption(
      namesOption('--only', 'only these kinds of changes', { what: 'kind', known: sectionNames, listedBy: '"scripstream diff --help"' }),
    )
    .addOption(symbolsOption())
    .option('--json', 'print all changes as JSON on stdout')
    .addHelpText('after', () => exampleText(examples) + sectionsText() + DIFF_EXIT_CODES)
    .action((day: string | undefined, other: string | undefined, flags: DiffFlags) =>
      act(diffCommand({ ...flags, day, other }, io, dependencies)),
    )
}

interface DiffFlags extends FolderFlags {
  readonly only?: readonly Section[]
  readonly symbols?: string
  readonly json?: boolean
  readonly since?: string
  readonly day?: string | undefined
  readonly other?: string | undefined
}

/** The days to compare; undefined for the last run. */
const readDays = ({ since, day, other }: DiffFlags): { readonly since: Day; readonly until?: Day | undefined } | undefined => {
  if (day === undefined) return since === undefined ? undefined : { since }
  if (since !== undefined) throw new UsageError('diff: give two days or --since, not both')
  if (other === undefined) throw new UsageError(`diff: ${day} needs a second day; to compare it with the present: --since ${day}`)
  return { since: checkDay('diff', day), until: checkDay('diff', other) }
}

/** Prints the changes of the last run of a folder, and emits the exit code. */
const diffCommand: Command<DiffFlags> = (flags, { stdout, env }, dependencies) =>
  defer((): Observable<number> => {
    const { only, symbols, json = false } = flags
    const days = readDays(flags)
    const settings = resolveSettings({ out: flags.out, config: flags.config }, { env }, dependencies)
    return defer(async () => {
      const { diff, diffDays } = await import('./folder-readers.js')
      const options = { exchange: settings.exchange, only, ...readSymbols(symbols, settings) }
      return days === undefined
        ? diff(settings.out, options)
        : diffDays(settings.out, { ...options, ...days, streams: dependencies.streams })
    }).pipe(
      map((difference) => {
        if (json) printJson(difference, stdout)
        else printLines(changeLines(difference, readSize(stdout).columns), stdout)
        return 0
      }),
    )
  })

/** Changes shown of each kind; `--json` has all. */
const MAX_CHANGES_SHOWN = 8

/** Formats the changes for people: kind by kind, the first few of each. */
const changeLines = (difference: Difference, columns: number): readonly TextLine[] => {
  const { folder, run, asOf, since, counts, changes, notes } = difference
  const plain = (text: string): readonly TextLine[] => wrapLines(text, columns)
  if (since === null) {
    const why = run === undefined ? 'no run has finished here yet' : `run ${run} is the first here, or earlier runs were not recorded`
    return [`Nothing to compare in ${clean(folder)}: ${clean(why)}. The next run can be compared.`, ...notes.map(clean)].flatMap(plain)
  }
  const kinds = (Object.entries(counts) as [Section, number][]).filter(([, number]) => number > 0)
  const sums = kinds.map(([section, number]) => `${section} ${formatCount(number)}`).join(', ')
  const asOfText = (instant: string | undefined): string => (instant === undefined ? '' : `, as of ${formatMinute(Date.parse(instant))}`)
  const runs = `run ${run}${asOfText(asOf)}${asOf === undefined ? '' : ','} compared with run ${since.run}${asOfText(since.asOf)}`
  const what = since.day === undefined ? runs : `${difference.day ?? 'now'} compared with ${since.day}`
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
  return [[], ...wrapTitled([section, 'bold'], `: ${SECTIONS[section]}`, columns), ...lines.flatMap((line) => wrapLines(line, columns))]
}
