import { defer, map } from 'rxjs'
import type { AddCommand, Command } from '../dependencies.js'
import { describeInstall } from '../install.js'
import { exampleText, type FolderFlags, withFolderOptions } from '../options.js'
import { resolveSettings } from '../provider.js'
import { toExitCode, untilSignal } from '../signals.js'
import { printJson, printLines } from '../terminal/print.js'
import { readSize } from '../terminal/terminal.js'
import { stockLines } from './lines.js'

const examples = [
  ['scripstream show TCS', 'price, range, results, filings, news and deals'],
  ['scripstream show "Tata Consultancy"', 'by the name of the company; also by ISIN or a former symbol'],
  ['scripstream show TCS --verify', 'also with what "verify" finds about it'],
  ['scripstream show TCS --json', 'all columns of the screener, and the events'],
] as const

const SHOW_EXIT_CODES = (): string => `
Needs DuckDB: ${describeInstall(['@duckdb/node-api'])}

Exit codes:
  0              done
  1              a file cannot be read
  2              wrong usage or configuration, an unknown stock, no output
                 folder, or DuckDB is not installed
  130, 143, 129  interrupted by Ctrl+C, TERM or a closed terminal
`

interface ShowFlags extends FolderFlags {
  readonly stock: string
  readonly json?: boolean
  readonly verify?: boolean
}

export const addShow: AddCommand = (program, { io, dependencies, act }) => {
  withFolderOptions(program.command('show').description('Shows one stock at a glance.'))
    .argument('<stock>', 'symbol, ISIN, former symbol or name of the company')
    .option('--verify', 'also show the findings of "verify" about it; takes some seconds')
    .option('--json', 'print everything as JSON')
    .addHelpText('after', () => exampleText(examples) + SHOW_EXIT_CODES())
    .action((stock: string, flags: Omit<ShowFlags, 'stock'>) => act(showCommand({ stock, ...flags }, io, dependencies)))
}

const EVENTS_SHOWN = 3
const EVENTS_IN_JSON = 100

/** Prints one stock. */
const showCommand: Command<ShowFlags> = ({ stock, json = false, verify: isVerified = false, ...flags }, io, dependencies) =>
  defer(async () => {
    const { out, exchange, verify: limits } = resolveSettings(flags, io, dependencies)
    const { readStockView, verify } = await import('../folder-readers.js')
    const { streams } = dependencies
    const view = await readStockView(out, { stock, streams, limit: json ? EVENTS_IN_JSON : EVENTS_SHOWN })
    const symbols = [String(view.facts.symbol)]
    const findings = isVerified ? (await verify(out, { streams, exchange, limits, symbols })).findings : undefined
    const whole = findings === undefined ? view : { ...view, findings }
    if (json) printJson(whole, io.stdout)
    else printLines(stockLines(whole, readSize(io.stdout).columns), io.stdout)
    return 0
  }).pipe(
    untilSignal(io.signal$),
    map((end) => (typeof end === 'string' ? toExitCode(end) : end)),
  )
