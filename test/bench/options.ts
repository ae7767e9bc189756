import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

export interface BenchOptions {
  readonly isScale: boolean
  readonly quick: boolean
  readonly list: boolean
  readonly help: boolean
  /** Names of measurements; all if absent. */
  readonly only: readonly string[] | undefined
  readonly runs: number
  readonly product: string
  /** Whether the figures go into `results.json`; as those of now, or of before. */
  readonly write: 'now' | 'before' | undefined
  readonly factors: readonly number[]
  readonly latenciesMs: readonly number[]
}

export const USAGE = `npm run bench -- [scale] [options]

  --quick             few stocks, one run each, about a minute: shows that all works, not how fast
  --only NAME,NAME    only these measurements (--list names them)
  --runs N            runs of each; 5 if nothing is said, 1 with --quick and for scale
  --product DIR       measures the build in another checkout
  --write             keeps the figures in test/bench/results.json; --before keeps them as those of an earlier state

scale: whole runs on larger markets, at other latencies
  --stocks 1,3,10     times 2,775
  --latencies 5,50,200`

/** Reads the command line; throws an error that names what is wrong. */
export const optionsOf = (args: readonly string[]): BenchOptions => {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      only: { type: 'string' },
      runs: { type: 'string' },
      product: { type: 'string', default: '.' },
      write: { type: 'boolean', default: false },
      before: { type: 'boolean', default: false },
      stocks: { type: 'string', default: '1,3,10' },
      latencies: { type: 'string', default: '5,50,200' },
    },
  })
  const [command, ...others] = positionals
  if (others.length > 0 || (command !== undefined && command !== 'scale'))
    throw new Error(`${positionals.join(' ')} means nothing here\n\n${USAGE}`)
  if (values.quick && (values.write || values.before)) throw new Error('what --quick measures is not worth keeping')
  const isScale = command === 'scale'
  return {
    isScale,
    quick: values.quick,
    list: values.list,
    help: values.help,
    only: values.only?.split(','),
    runs: values.runs === undefined ? (values.quick || isScale ? 1 : 5) : (numbers(values.runs)[0] as number),
    product: resolve(values.product),
    write: values.before ? 'before' : values.write ? 'now' : undefined,
    factors: numbers(values.stocks),
    latenciesMs: numbers(values.latencies),
  }
}

const numbers = (text: string): readonly number[] =>
  text.split(',').map((part) => {
    const value = Number(part)
    if (!(value > 0)) throw new Error(`${part} is not a number above 0\n\n${USAGE}`)
    return value
  })
