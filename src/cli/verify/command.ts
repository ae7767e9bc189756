import { defer } from 'rxjs'
import { isSignificant } from '../../model/drift.js'
import { UsageError } from '../../model/errors.js'
import { groupBy } from '../../model/map.js'
import { omitUndefined } from '../../model/row.js'
import { toDay } from '../../model/trading-day.js'
import { checkNames } from '../../verify/finding.js'
import { type Answer, defineCommand, type FlagValues, type Input } from '../command.js'
import { notifyOfFailure } from '../notify/notify.js'
import {
  dayOption,
  flag,
  folderFlags,
  jsonFlag,
  namesOption,
  readSymbols,
  symbolsOption,
} from '../options.js'
import { formatQuantity } from '../terminal/text.js'
import { readChangedAnswers } from './drift.js'
import { describeExceeded, findingLines, type VerifyReport } from './findings.js'

const EXIT_CHANGED_ANSWERS = 3
const EXIT_LIMIT_EXCEEDED = 4

const verifyFlags = () => ({
  ...folderFlags(),
  only: namesOption('--only', 'only these checks', {
    what: 'check',
    known: checkNames,
    listedBy: '"scripstream help checks"',
  }),
  symbols: symbolsOption('only findings of these stocks'),
  since: dayOption('--since <day>', 'only findings about this day or later'),
  all: flag('--all', 'show all findings in full, open ones too'),
  deep: flag('--deep', 'also read every byte: what a disk or an editor has changed, on recorded days too'),
  drift: flag('--drift', "also show how the provider's answers have changed"),
  backtest: flag('--backtest', 'also show what a back-test costs (needs DuckDB)').conflicts([
    'only',
    'symbols',
    'since',
  ]),
  accept: flag('--accept [reason]', 'accept the findings, with a reason; with --drift only the changes'),
  quiet: flag('-q, --quiet', 'print nothing without new errors or warnings, and notify of a failure'),
  json: jsonFlag('print all findings as JSON on stdout'),
})

type VerifyFlags = FlagValues<ReturnType<typeof verifyFlags>>

export const addVerify = defineCommand({
  name: 'verify',
  about: 'Checks the outputs of a folder and reports what is wrong.',
  flags: verifyFlags,
  examples: [
    ['scripstream verify --symbols INFY,TCS --since 2026-01-01', 'only findings of two stocks of this year'],
    ['scripstream verify --accept "as traded"', 'from now on, report only new findings'],
    ['scripstream verify --drift --accept', 'accept the changed answers: runs no longer end with 3'],
    ['scripstream verify --backtest', 'what it can prove about the past, and what not'],
    ['scripstream run && scripstream verify --quiet', 'the daily run; prints only new findings'],
  ],
  notes: [
    'All checks, each with a sentence: scripstream help checks',
    'A finding is new until "verify" has reported it in the files of an earlier run, then open until it is gone or accepted.',
  ],
  exits: {
    [EXIT_CHANGED_ANSWERS]: 'with --drift: changes that are not accepted',
    [EXIT_LIMIT_EXCEEDED]: 'more new findings than the setting "verify" allows',
  },
  run: (flags, input) =>
    defer(() => verifyFolder(flags, input)).pipe(
      notifyOfFailure(
        {
          command: 'verify',
          isScheduled: flags.quiet,
          describe: ({ json }) => describeVerifyFailure(json as VerifyReport),
        },
        input,
      ),
    ),
})

const verifyFolder = async (
  flags: VerifyFlags,
  { settings, dependencies: { streams, storage }, io, args }: Input,
): Promise<Answer> => {
  const { only, symbols, since, all, deep, accept, drift, quiet } = flags
  if (accept?.toString().trim() === '')
    throw new UsageError('--accept: the reason is empty; leave it out, or write one')
  if (drift && typeof accept === 'string')
    throw new UsageError('--accept: changes of answers take no reason; leave it out')
  const own = settings()
  const { out, exchange, watchlists, verify } = own
  const startedAt = io.scheduler.now()
  const options = {
    streams,
    exchange,
    only,
    since,
    deep,
    isReport: true,
    ...readSymbols(symbols, { watchlists }),
    // The default allows no errors and any number of warnings: most trading days have unusual moves.
    limits: { errors: 0, ...verify },
    ...(accept && !drift
      ? { accept: { on: toDay(startedAt), reason: accept === true ? undefined : accept } }
      : {}),
  }
  // What cannot be answered fails before the findings count as reported.
  const answers = drift ? await readChangedAnswers(storage(own), out) : undefined
  const countGaps = flags.backtest
    ? await (await import('../../verify/backtest.js')).countBacktestGaps(out, { streams, exchange })
    : undefined
  const { verifyAndRecord } = await import('../../verify/recorded-checks.js')
  const { verification } = await verifyAndRecord(out, options, () => io.scheduler.now())
  const report: VerifyReport = omitUndefined({
    ...verification,
    drift: accept ? await answers?.accept() : answers?.drift,
    backtest: countGaps?.(verification),
  })
  const code =
    report.passed.length > 0
      ? EXIT_LIMIT_EXCEEDED
      : report.drift?.some(isSignificant)
        ? EXIT_CHANGED_ANSWERS
        : 0
  if (
    quiet &&
    code === 0 &&
    verification.findings.every(({ severity, state }) => severity === 'info' || state === 'open')
  )
    return code
  const tookMs = io.scheduler.now() - startedAt
  return {
    code,
    json: report,
    lines: () => findingLines(report, { tookMs, args, all }),
  }
}

const describeVerifyFailure = ({ folder, findings, passed, drift = [] }: VerifyReport) => {
  const fresh = findings.filter(({ state }) => state === 'new')
  const checks = [...groupBy(fresh, ({ check }) => check)].map(([check, own]) => `${check} ${own.length}`)
  const changes = drift.filter(isSignificant).length
  const failures = [
    ...passed.map(describeExceeded),
    ...(changes === 0 ? [] : [`${formatQuantity(changes, 'change')} of answers not accepted`]),
  ]
  const found = checks.length === 0 ? '' : ` (${checks.join(', ')})`
  return {
    headline: `${failures.join('; ')} in ${folder}${found}.`,
    findings: fresh,
  }
}
