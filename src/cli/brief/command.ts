import { DamagedFileError, formatError, StorageError, UsageError } from '../../model/errors.js'
import { formatJson } from '../../model/text.js'
import { toDay } from '../../model/trading-day.js'
import type { Brief } from '../../show/brief.js'
import type { openMarketFolder } from '../../show/index.js'
import { toStorageError, writeFileAtomically } from '../../storage/file-system.js'
import { readIsSimulated, readRunRecords } from '../../storage/run-records.js'
import { defineCommand } from '../command.js'
import {
  choiceOption,
  flag,
  folderFlags,
  readSymbols,
  readWatchlists,
  type SymbolSelection,
  symbolsOption,
} from '../options.js'
import type { RunCommandContext } from '../run/context.js'
import { type AnswerLine, layOut, type TextLine } from '../terminal/terminal.js'
import { briefHtml } from './html.js'
import { briefLines } from './lines.js'
import { briefMarkdown } from './markdown.js'

export const addBrief = defineCommand({
  name: 'brief',
  about:
    'Shows what one wants to know in the morning: outcome, what is not up to date, what changed, new findings.',
  flags: () => ({
    ...folderFlags(),
    symbols: symbolsOption('these stocks first, marked with *'),
    format: choiceOption('--format <format>', 'html is a page to mail or print', [
      'text',
      'md',
      'html',
      'json',
    ]).default('text'),
    to: flag('--to <file>', 'write it to this file; DAY in its name is the day of the run').default(
      '-',
      'stdout',
    ),
  }),
  examples: [
    ['scripstream brief', 'the last run and the market: outcome, what changed, results, documents'],
    ['scripstream brief --symbols @watchlist.txt', 'the stocks of a watchlist first'],
    ['scripstream brief --format html --to report-DAY.html', 'to keep or print'],
    ['scripstream brief --format html | mail -s "Market" -a "Content-Type: text/html" me', 'to mail it'],
  ],
  notes: ['Prices and figures of the market need DuckDB.'],
  needs: ['@duckdb/node-api'],
  run: async ({ symbols, format = 'text', to = '-' }, { io, dependencies, settings: load }) => {
    const settings = load()
    const watchlist = readSymbols(symbols, settings)
    const brief = await collectBrief({ settings, io, dependencies }, watchlist)
    const watched = watchlist.symbols ?? [...new Set(Object.values(readWatchlists(settings)).flat())]
    const folder = { root: settings.out, exchange: settings.exchange, streams: dependencies.streams }
    const answer = await formatBrief(brief, format, { folder, watched })
    if (to === '-') return typeof answer === 'string' ? { text: answer } : { lines: () => answer }
    const toPlain = (line: TextLine): string => `${line.map(([part]) => part).join('')}\n`
    const text =
      typeof answer === 'string' ? answer : layOut(answer, Number.POSITIVE_INFINITY).map(toPlain).join('')
    const file = to.replace('DAY', toDay(Date.parse(brief.asOf)))
    await writeFileAtomically(file, [text]).catch((error: unknown) => {
      throw toStorageError(error, 'written', file)
    })
    return { lines: () => [`Written to ${file}`] }
  },
})

const formatBrief = async (
  brief: Brief,
  format: string,
  {
    folder,
    watched,
  }: { readonly folder: Parameters<typeof openMarketFolder>[0]; readonly watched: readonly string[] },
): Promise<string | readonly AnswerLine[]> => {
  if (format === 'json') return `${formatJson(brief, 2)}\n`
  const show = await import('../../show/index.js')
  const market = await show.readMorning(show.openMarketFolder(folder), watched)
  if (format === 'md') return briefMarkdown(brief, market, watched)
  return format === 'html' ? briefHtml(brief, market, watched) : briefLines(brief, market, watched)
}

/** The brief of a folder. The life of its findings is remembered. */
export const collectBrief = async (
  {
    settings: { out, exchange, watch },
    io,
    dependencies: { streams },
  }: Pick<RunCommandContext, 'settings' | 'io' | 'dependencies'>,
  watchlist: SymbolSelection,
): Promise<Brief> => {
  const { createBrief } = await import('../../show/brief.js')
  const { describeRules } = await import('../../tables/changes/watch.js')
  const { listRules } = await import('../../tables/changes/watch-rules.js')
  const { verifyAndRecord } = await import('../../verify/recorded-checks.js')
  const { report, runs, damage } = await readRunRecords(out)
  if (report === undefined && damage.length > 0) throw new DamagedFileError(damage.join('; '))
  if (report === undefined) throw new UsageError(`no run has finished in ${out} yet`, { code: 'no-outputs' })
  const unchecked: string[] = []
  const checks = await verifyAndRecord(out, { streams, exchange, limits: {} }, () =>
    io.scheduler.now(),
  ).catch((error: unknown) => {
    if (!(error instanceof StorageError)) throw error
    unchecked.push(`findings: ${error.message}`)
    return undefined
  })
  const verification = checks?.verification
  const findings = verification?.findings.filter(({ state }) => state === 'new')
  const rules = await listRules(out, watch).catch((error: unknown) => {
    unchecked.push(`rules: ${formatError(error)}`)
    return []
  })
  const failedRules = (await describeRules(out, rules)).flatMap(({ name, text, isBad }) =>
    isBad ? [`${name}: ${text}`] : [],
  )
  return createBrief(out, {
    failedRules,
    report,
    runs,
    streams,
    exchange,
    watchlist,
    findings,
    unchecked,
    newestSession: verification?.sessions.last,
    isSimulated: readIsSimulated(out),
  })
}
