import { Option } from 'commander'
import { defer, map, type Observable } from 'rxjs'
import type { Brief } from '../../analysis/brief/brief.js'
import { DamagedFileError, StorageError, UsageError } from '../../model/errors.js'
import { readRunRecords } from '../../storage/run-records.js'
import type { AddCommand } from '../dependencies.js'
import { exampleText } from '../options.js'
import { resolveSettings } from '../provider.js'
import type { RunCommandContext } from '../run/flags.js'
import { readSymbols, type SymbolSelection, symbolsOption } from '../symbols.js'
import { printJson, printLines } from '../terminal/print.js'
import { readSize, type TerminalStream } from '../terminal/terminal.js'
import { briefHtml } from './html.js'
import { briefLines, briefMarkdown } from './lines.js'

const FORMATS = ['text', 'md', 'html', 'json'] as const
type Format = (typeof FORMATS)[number]

interface BriefFlags {
  readonly out?: string
  readonly config?: string
  readonly symbols?: string
  readonly format: Format
  readonly verify: boolean
}

const examples = [
  ['scripstream brief', 'the last run on one screen: outcome, what changed, new findings'],
  ['scripstream brief --symbols @watchlist.txt', 'the stocks of a watchlist first'],
  ['scripstream brief --format html > brief.html', 'to keep or to mail'],
] as const

export const addBrief: AddCommand = (program, { io, dependencies, act }) => {
  program
    .command('brief')
    .description('Shows what one wants to know in the morning: outcome, what is not up to date, what changed, new findings.')
    .option('--out <dir>', 'output folder (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if present)')
    .addOption(symbolsOption('these stocks first, marked with *'))
    .addOption(new Option('--format <format>', 'how it is printed').choices(FORMATS).default('text'))
    .option('--no-verify', 'leave out the findings of "verify"; takes a second instead of several')
    .addHelpText('after', exampleText(examples))
    .action(({ out, config, symbols, format, verify }: BriefFlags) =>
      act(
        defer(() => {
          const settings = resolveSettings({ out, config }, io, dependencies)
          return collectBrief({ settings, io, dependencies }, { watchlist: readSymbols(symbols, settings), verify })
        }).pipe(
          map((brief) => {
            printBrief(brief, format, io.stdout)
            return 0
          }),
        ),
      ),
    )
}

const printBrief = (brief: Brief, format: Format, stdout: TerminalStream): void => {
  if (format === 'json') printJson(brief, stdout)
  else if (format === 'text') printLines(briefLines(brief, readSize(stdout).columns), stdout)
  else stdout.write(format === 'md' ? briefMarkdown(brief) : briefHtml(brief))
}

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
