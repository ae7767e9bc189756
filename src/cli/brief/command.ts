import { defer, map, type Observable } from 'rxjs'
import type { Brief } from '../../analysis/brief/brief.js'
import { DamagedFileError, StorageError, UsageError } from '../../model/errors.js'
import { formatJson } from '../../model/text.js'
import { readRunRecords } from '../../storage/run-records.js'
import { type Answer, defineCommand } from '../command.js'
import { choiceOption, flag, folderFlags } from '../options.js'
import type { RunCommandContext } from '../run/flags.js'
import { readSymbols, type SymbolSelection, symbolsOption } from '../symbols.js'
import { briefHtml } from './html.js'
import { briefLines, briefMarkdown } from './lines.js'

const FORMATS = ['text', 'md', 'html', 'json'] as const

export const addBrief = defineCommand({
  name: 'brief',
  about: 'Shows what one wants to know in the morning: outcome, what is not up to date, what changed, new findings.',
  flags: () => ({
    ...folderFlags(),
    symbols: symbolsOption('these stocks first, marked with *'),
    format: choiceOption('--format <format>', 'how it is printed', FORMATS).default('text'),
    verify: flag('--no-verify', 'leave out the findings of "verify"; takes a second instead of several'),
  }),
  examples: [
    ['scripstream brief', 'the last run on one screen: outcome, what changed, new findings'],
    ['scripstream brief --symbols @watchlist.txt', 'the stocks of a watchlist first'],
    ['scripstream brief --format html > brief.html', 'to keep or to mail'],
  ],
  run: ({ symbols, format = 'text', verify = true }, { io, dependencies, settings: load }) => {
    const settings = load()
    return collectBrief({ settings, io, dependencies }, { watchlist: readSymbols(symbols, settings), verify }).pipe(
      map((brief): Answer => {
        if (format === 'json') return { text: `${formatJson(brief, 2)}\n` }
        if (format === 'text') return { lines: (columns) => briefLines(brief, columns) }
        return { text: format === 'md' ? briefMarkdown(brief) : briefHtml(brief) }
      }),
    )
  },
})

/** The brief of a folder. With `verify`, the life of its findings is remembered. */
export const collectBrief = (
  { settings: { out, exchange }, io, dependencies: { streams } }: Pick<RunCommandContext, 'settings' | 'io' | 'dependencies'>,
  { watchlist, verify: isVerified }: { readonly watchlist: SymbolSelection; readonly verify: boolean },
): Observable<Brief> =>
  defer(async () => {
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
    return createBrief(out, {
      report,
      runs,
      streams,
      exchange,
      watchlist,
      findings: verification?.findings.filter(({ severity, state }) => severity !== 'info' && state === 'new'),
      newestSession: verification?.sessions.last,
      unchecked,
    })
  })
