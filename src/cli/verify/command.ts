import { defer, type Observable } from 'rxjs'
import { CHECKS, type CheckName, checkNames, type Verification } from '../../analysis/verify/finding.js'
import { UsageError } from '../../model/errors.js'
import { toDay } from '../../model/trading-day.js'
import type { AddCommand, Command } from '../dependencies.js'
import { dayOption, exampleText, integerOption, namesOption } from '../options.js'
import { resolveSettings } from '../provider.js'
import { readSymbols, symbolsOption } from '../symbols.js'
import { printJson, printLines } from '../terminal/print.js'
import { readSize } from '../terminal/terminal.js'
import { wrap } from '../terminal/text.js'
import { findingLines } from './findings.js'

const examples = [
  ['scripstream verify', 'everything in ./data'],
  ['scripstream verify --only spliced-series,large-moves', 'two of the checks'],
  ['scripstream verify --deep', 'also find files that a disk or an editor has changed'],
  ['scripstream verify --history', 'also read every byte of the recorded days'],
  ['scripstream verify --symbols INFY,TCS --since 2026-01-01', 'only findings of two stocks of this year'],
  ['scripstream verify --accept --reason "as traded"', 'from now on, report only new findings'],
  ['scripstream run && scripstream verify --quiet', 'the daily run; prints only new findings'],
] as const

const VERIFY_EXIT_CODES = `
Exit codes:
  0  within the limits of the setting "verify"; without it, no errors
  1  the folder cannot be read
  2  wrong usage or configuration
  4  new findings exceed a limit: by default, one new error

A finding is new until "verify" has reported it in the files of an earlier run. Then it is open until it is gone or accepted.
`

const MAX_LIMIT = 1_000_000

export const addVerify: AddCommand = (program, { args, io, dependencies, act }) => {
  const checksText = (): string =>
    ['', 'Checks:', ...checkNames.flatMap((name) => [`  ${name}`, ...wrap(`      ${CHECKS[name]}`, readSize(io.stdout).columns)]), ''].join(
      '\n',
    )
  program
    .command('verify')
    .description('Checks the outputs of a folder and reports what is wrong.')
    .option('--out <dir>', 'output folder (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if present)')
    .addOption(namesOption('--only', 'only these checks', { what: 'check', known: checkNames, listedBy: '"scripstream verify --help"' }))
    .addOption(symbolsOption('only findings of these stocks'))
    .addOption(dayOption('--since <day>', 'only findings about this day or later'))
    .addOption(integerOption('--limit <number>', 'findings shown of each check (default: 4)', [0, MAX_LIMIT]))
    .option('--all', 'also show open findings in full')
    .option('--history', 'also read every byte of the recorded days and compare it with its digest')
    .option('--deep', 'also read every output and compare it with the digest of what a run wrote')
    .option('--accept', 'accept the findings: later commands report only new ones')
    .option('--reason <text>', 'why they are accepted')
    .option('--quiet', 'print nothing if there are no new errors or warnings')
    .option('--json', 'print all findings as JSON on stdout')
    .addHelpText('after', () => exampleText(examples) + checksText() + VERIFY_EXIT_CODES)
    .action((flags: Omit<VerifyFlags, 'args'>) => act(verifyCommand({ ...flags, args }, io, dependencies)))
}

interface VerifyFlags {
  /** As typed. */
  readonly args: readonly string[]
  readonly out?: string
  readonly config?: string
  readonly only?: readonly CheckName[]
  readonly symbols?: string
  readonly since?: string
  readonly limit?: number
  readonly all?: boolean
  readonly deep?: boolean
  readonly history?: boolean
  readonly accept?: boolean
  readonly reason?: string
  readonly quiet?: boolean
  readonly json?: boolean
}

/** The exit code if the findings exceed the limits in the settings. */
const EXIT_LIMIT_EXCEEDED = 4

/** The default allows no errors and any number of warnings: most trading days have unusual moves. */
const DEFAULT_LIMITS = { errors: 0 }

/** Checks the outputs of a folder, prints the findings, and emits the exit code. */
const verifyCommand: Command<VerifyFlags> = (flags, { stdout, env, scheduler }, dependencies) =>
  defer((): Observable<number> => {
    const { out, config, only, symbols, since, limit, all, deep, history, accept = false, reason, quiet = false, json = false } = flags
    if (reason !== undefined && !accept) throw new UsageError('--reason: it needs --accept')
    const settings = resolveSettings({ out, config }, { env }, dependencies)
    const startedAt = scheduler.now()
    const verifying = {
      streams: dependencies.streams,
      exchange: settings.exchange,
      only,
      ...readSymbols(symbols, settings),
      since,
      deep,
      history,
      isReport: true,
      limits: { ...DEFAULT_LIMITS, ...settings.verify },
      ...(accept ? { accept: { on: toDay(startedAt), reason } } : {}),
    }
    const print = (verification: Verification): void => {
      const tookMs = scheduler.now() - startedAt
      if (quiet && verification.findings.every(({ severity, state }) => severity === 'info' || state === 'open')) return
      if (json) printJson(verification, stdout)
      else printLines(findingLines(verification, { columns: readSize(stdout).columns, tookMs, args: flags.args, limit, all }), stdout)
    }
    return defer(async () => {
      const { verifyAndRecord } = await import('../folder-readers.js')
      const { verification } = await verifyAndRecord(settings.out, verifying, () => scheduler.now())
      print(verification)
      return verification.passed.length > 0 ? EXIT_LIMIT_EXCEEDED : 0
    })
  })
