import { DamagedFileError, StorageError, UsageError } from '../../model/errors.js'
import { formatJson } from '../../model/text.js'
import { toDay } from '../../model/trading-day.js'
import type { Brief } from '../../show/brief.js'
import { toStorageError, writeFileAtomically } from '../../storage/file-system.js'
import { readIsSimulated, readRunRecords } from '../../storage/run-records.js'
import { defineCommand } from '../command.js'
import type { Dependencies } from '../dependencies.js'
import { choiceOption, flag, folderFlags } from '../options.js'
import type { RunCommandContext } from '../run/context.js'
import { readSymbols, type SymbolSelection, symbolsOption } from '../symbols.js'
import { wrapLines } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'
import { briefHtml } from './html.js'
import { briefLines, briefMarkdown } from './lines.js'

export const addBrief = defineCommand({
  name: 'brief',
  about: 'Shows what one wants to know in the morning: outcome, what is not up to date, what changed, new findings.',
  flags: () => ({
    ...folderFlags(),
    symbols: symbolsOption('these stocks first, marked with *'),
    format: choiceOption('--format <format>', 'html also has the market at a glance', ['text', 'md', 'html', 'json']).default('text'),
    to: flag('--to <file>', 'write it to this file; DAY in its name is the day of the run').default('-', 'stdout'),
    verify: flag('--no-verify', 'leave out the findings of "verify"; takes a second instead of several'),
  }),
  examples: [
    ['scripstream brief', 'the last run on one screen: outcome, what changed, new findings'],
    ['scripstream brief --symbols @watchlist.txt', 'the stocks of a watchlist first'],
    ['scripstream brief --format html --to report-DAY.html', 'to keep, with the market at a glance'],
    ['scripstream brief --format html | mail -s "Market" -a "Content-Type: text/html" me', 'to mail it'],
  ],
  notes: () => ['Prices and figures of the market need DuckDB.'],
  needs: ['@duckdb/node-api'],
  run: async ({ symbols, format = 'text', to = '-', verify = true }, { io, dependencies, settings: load }) => {
    const settings = load()
    const brief = await collectBrief({ settings, io, dependencies }, { watchlist: readSymbols(symbols, settings), verify })
    if (format === 'text' && to === '-') return { lines: (columns) => briefLines(brief, columns) }
    const text = await formatBrief(brief, format, { settings, streams: dependencies.streams })
    if (to === '-') return { text }
    const file = to.replace('DAY', toDay(Date.parse(brief.asOf)))
    await writeFileAtomically(file, [text]).catch((error: unknown) => {
      throw toStorageError(error, 'written', file)
    })
    return { lines: (columns) => wrapLines(`Written to ${clean(file)}`, columns) }
  },
})

const formatBrief = async (
  brief: Brief,
  format: string,
  { settings: { out: root, exchange }, streams }: Pick<RunCommandContext, 'settings'> & Pick<Dependencies, 'streams'>,
): Promise<string> => {
  if (format === 'json') return `${formatJson(brief, 2)}\n`
  if (format === 'md') return briefMarkdown(brief)
  if (format === 'text')
    return briefLines(brief, 80)
      .map((line) => `${line.map(([text]) => text).join('')}\n`)
      .join('')
  const { openMarketFolder, readWholeMarket } = await import('../../show/index.js')
  return briefHtml(brief, await readWholeMarket(openMarketFolder({ root, exchange, streams })))
}

/** The brief of a folder. With `verify`, the life of its findings is remembered. */
export const collectBrief = async (
  { settings: { out, exchange }, io, dependencies: { streams } }: Pick<RunCommandContext, 'settings' | 'io' | 'dependencies'>,
  { watchlist, verify: isVerified }: { readonly watchlist: SymbolSelection; readonly verify: boolean },
): Promise<Brief> => {
  const { createBrief, verifyAndRecord } = await import('../folder-readers.js')
  const { report, runs, damage } = await readRunRecords(out)
  if (report === undefined && damage.length > 0) throw new DamagedFileError(damage.join('; '))
  if (report === undefined) throw new UsageError(`no run has finished in ${out} yet`, { code: 'no-outputs' })
  const unchecked: string[] = []
  const checks = isVerified
    ? await verifyAndRecord(out, { streams, exchange, limits: {} }, () => io.scheduler.now()).catch((error: unknown) => {
        if (!(error instanceof StorageError)) throw error
        unchecked.push(`findings: ${error.message}`)
        return undefined
      })
    : undefined
  const verification = checks?.verification
  const findings = verification?.findings.filter(({ severity, state }) => severity !== 'info' && state === 'new')
  return createBrief(out, {
    report,
    runs,
    streams,
    exchange,
    watchlist,
    findings,
    newestSession: verification?.sessions.last,
    isSimulated: await readIsSimulated(out),
    unchecked,
  })
}
