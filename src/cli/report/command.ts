import { concatMap } from 'rxjs'
import { toDay } from '../../model/trading-day.js'
import { toStorageError, writeFileAtomically } from '../../storage/file-system.js'
import { collectBrief } from '../brief/command.js'
import { briefHtml } from '../brief/html.js'
import type { AddCommand, Command } from '../dependencies.js'
import { describeInstall } from '../install.js'
import { exampleText, type FolderFlags, withFolderOptions } from '../options.js'
import { resolveSettings } from '../provider.js'
import { readSymbols, symbolsOption } from '../symbols.js'
import { printLines } from '../terminal/print.js'
import { readSize, wrapLines } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'
import { MARKET_STYLE, marketHtml } from './market-html.js'

interface ReportFlags extends FolderFlags {
  readonly symbols?: string
  readonly to?: string
  readonly verify: boolean
}

const examples = [
  ['scripstream report', 'writes report-2026-02-12.html, named after the day of the last run'],
  ['scripstream report --to /srv/www/today.html --symbols @watchlist.txt', 'another file, the stocks of a watchlist first'],
  ['scripstream report --to - | mail -s "Market" -a "Content-Type: text/html" me', 'to mail it'],
] as const

export const addReport: AddCommand = (program, { io, dependencies, act }) => {
  withFolderOptions(
    program
      .command('report')
      .description('Writes the brief of the day as one HTML file to keep or to mail: outcome, market at a glance, changes, new findings.'),
  )
    .option('--to <file>', 'the file to write (default: report-DAY.html); - for stdout')
    .addOption(symbolsOption('these stocks first, marked with *'))
    .option('--no-verify', 'leave out the findings of "verify"; takes a second instead of several')
    .addHelpText('after', () => `${exampleText(examples)}\nPrices and figures need DuckDB: ${describeInstall(['@duckdb/node-api'])}\n`)
    .action((flags: ReportFlags) => act(reportCommand(flags, io, dependencies)))
}

/** Writes the report. */
const reportCommand: Command<ReportFlags> = ({ symbols, to, verify, ...flags }, io, dependencies) => {
  const settings = resolveSettings(flags, io, dependencies)
  return collectBrief({ settings, io, dependencies }, { watchlist: readSymbols(symbols, settings), verify }).pipe(
    concatMap(async (brief) => {
      const { openMarketFolder, readWholeMarket } = await import('../../show/index.js')
      const market = await readWholeMarket(
        openMarketFolder({ root: settings.out, exchange: settings.exchange, streams: dependencies.streams }),
      )
      const html = briefHtml(brief, { body: marketHtml(market), style: MARKET_STYLE })
      if (to === '-') io.stdout.write(html)
      else {
        const file = to ?? `report-${toDay(Date.parse(brief.asOf))}.html`
        await writeFile(file, html)
        printLines(wrapLines(`Written to ${clean(file)}`, readSize(io.stdout).columns), io.stdout)
      }
      return 0
    }),
  )
}

const writeFile = async (file: string, html: string): Promise<void> => {
  try {
    await writeFileAtomically(file, [html])
  } catch (error) {
    throw toStorageError(error, 'written', file)
  }
}
