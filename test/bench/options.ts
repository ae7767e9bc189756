import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type OutageKind, outageKinds } from './provider/outage.js'
import { type TroubleCommand, troubleCommands } from './trouble/index.js'
import { type OutageStart, outageStarts } from './trouble/outages.js'

export interface BenchOptions {
  /** Another measurement than those of the README's table. */
  readonly command: 'scale' | 'turns' | 'budget' | TroubleCommand | undefined
  readonly quick: boolean
  readonly list: boolean
  readonly help: boolean
  /** Names of measurements; all if absent. */
  readonly only: readonly string[] | undefined
  readonly runs: number
  readonly product: string
  /**
   * The folder of a built checkout, or a commit, that `turns` and `budget` compare with; default: the commit
   * in budget.json.
   */
  readonly against: string | undefined
  /** Whether the figures are stored, as current ones or as those of before. */
  readonly write: 'now' | 'before' | undefined
  readonly factors: readonly number[]
  readonly latenciesMs: readonly number[]
  readonly trouble: TroubleOptions
}

export interface TroubleOptions {
  /** The default of the command if absent. */
  readonly stocks: number | undefined
  readonly latencyMs: number
  readonly kinds: readonly OutageKind[]
  readonly seconds: readonly number[]
  readonly starts: readonly OutageStart[]
  readonly megabits: readonly number[]
  /** Endpoints that always answer 429, one per run. */
  readonly endpoints: readonly string[]
}

export const USAGE = `npm run bench -- [command] [options]

  --quick             few stocks, one run each, about a minute: checks that everything works; the times mean nothing
  --only NAME,NAME    only these measurements (--list names them)
  --runs N            runs of each; default 5, 1 with --quick and for scale
  --product DIR       measures the build in another checkout
  --write             stores the figures in test/bench/results.json; --before stores them as those of an earlier version

scale: whole runs on larger markets, at other latencies
  --stocks 1,3,10     times 2,775
  --latencies 5,50,200

turns: alternating full runs of two builds on a tmpfs: ratios of wall time, CPU and memory, heap allocated per request, files and functions per
stock, and the CPU of the floor program; requests and files must be the same
  --against REF       the other checkout, built, or a commit; default: the one in test/bench/budget.json
  --stocks 2775 --latencies 50

budget: the same with 150 stocks and no latency, without the files per stock, in a minute. Fails above the limits of test/bench/budget.json;
without the other commit, nothing is compared with it

outages, slow-lines, endless-429, large-bodies: runs with faults. --write stores the rows in test/bench/outages.json
  --stocks N          2,775 for outages (60 with --quick), 60 for the others
  --latencies 5       of outages
  --kinds ${outageKinds.join()}
  --seconds 5,15,45,120
  --starts ${outageStarts.map((start) => start.replace(' ', '-')).join()}
  --megabits 1,2,4    of slow-lines
  --endpoints a,b     of endless-429: endpoints that always answer 429, one per run`

const commands = ['scale', 'turns', 'budget', ...troubleCommands] as const

/** Parses the command line; throws an error that names the wrong part. */
export const parseOptions = (args: readonly string[]): BenchOptions => {
  const { values, positionals } = parseFlags(args)
  const [given, ...others] = positionals
  const command = given === undefined ? undefined : findChoice(commands, given)
  if (others.length > 0 || (given !== undefined && command === undefined))
    throw new Error(`unknown command: ${positionals.join(' ')}\n\n${USAGE}`)
  if (values.quick && (values.write || values.before))
    throw new Error('--quick cannot be combined with --write or --before')
  const isScale = command === 'scale'
  return {
    command,
    quick: values.quick,
    list: values.list,
    help: values.help,
    only: values.only?.split(','),
    runs:
      values.runs === undefined
        ? values.quick || isScale
          ? 1
          : command === 'budget'
            ? 3
            : 5
        : (parseNumbers(values.runs)[0] as number),
    product: resolve(values.product),
    against: values.against,
    write: values.before ? 'before' : values.write ? 'now' : undefined,
    factors: parseNumbers(isScale ? (values.stocks ?? '1,3,10') : '1'),
    latenciesMs: parseNumbers(values.latencies ?? '5,50,200', 0),
    trouble: {
      stocks: values.stocks === undefined || isScale ? undefined : parseNumbers(values.stocks)[0],
      latencyMs: parseNumbers(values.latencies ?? DEFAULT_LATENCY_MS[command ?? ''] ?? '5', 0)[0] as number,
      kinds: parseChoices(outageKinds, values.kinds),
      seconds: parseNumbers(values.seconds),
      starts: parseChoices(outageStarts, values.starts?.replaceAll('-', ' ')),
      megabits: parseNumbers(values.megabits),
      endpoints: values.endpoints.split(','),
    },
  }
}

const parseFlags = (args: readonly string[]) =>
  parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      only: { type: 'string' },
      runs: { type: 'string' },
      product: { type: 'string', default: '.' },
      against: { type: 'string' },
      write: { type: 'boolean', default: false },
      before: { type: 'boolean', default: false },
      stocks: { type: 'string' },
      latencies: { type: 'string' },
      kinds: { type: 'string' },
      seconds: { type: 'string', default: '5,15,45,120' },
      starts: { type: 'string' },
      megabits: { type: 'string', default: '1,2,4' },
      endpoints: { type: 'string', default: 'lodr,news,ohlcv' },
    },
  })

const DEFAULT_LATENCY_MS: Readonly<Record<string, string>> = { turns: '50', budget: '0' }

const findChoice = <T extends string>(known: readonly T[], name: string): T | undefined =>
  known.find((one) => one === name)

const parseChoices = <T extends string>(known: readonly T[], text: string | undefined): readonly T[] =>
  text === undefined
    ? known
    : text.split(',').map((part) => {
        const choice = findChoice(known, part)
        if (choice === undefined) throw new Error(`${part} is not one of ${known.join(', ')}\n\n${USAGE}`)
        return choice
      })

const parseNumbers = (text: string, min = Number.MIN_VALUE): readonly number[] =>
  text.split(',').map((part) => {
    const value = Number(part)
    if (!(value >= min))
      throw new Error(`${part} is not a number ${min === 0 ? 'of at least' : 'above'} 0\n\n${USAGE}`)
    return value
  })
