import { readFileSync } from 'node:fs'
import { Argument, Option } from 'commander'
import { z } from 'zod'
import type { StreamDefinition } from '../engine/define-stream.js'
import type { RunOptions } from '../engine/run-options.js'
import { formatError, UsageError } from '../model/errors.js'
import { formatQuantity, joinWords } from '../model/format.js'
import type { AsOfSession } from '../model/report.js'
import type { Settings } from '../model/settings.js'
import { parseOptions } from '../model/settings-issues.js'
import { findClosest, findNearMatch, suggest } from '../model/text.js'
import { formatMinute, isAfterClock, toDayEnd } from '../model/trading-day.js'
import { describeFileError, statFile } from '../storage/file-system.js'
import { adaptCommands } from './command-line.js'
import type { ProcessIo } from './dependencies.js'

/** An option, and for the type checker its value. */
export type Flag<T> = Option & { readonly value?: T }

export type Flags = Readonly<Record<string, Flag<unknown>>>

type FlagValue<Text extends string> =
  | (Text extends `${string}<${string}`
      ? string
      : Text extends `${string}[${string}`
        ? string | true
        : boolean)
  | undefined

/** An option with a text as its value (`<…>`), with or without one (`[…]`), or without a value. */
export const flag = <const Text extends string>(flags: Text, about: string): Flag<FlagValue<Text>> =>
  new Option(flags, about)

export const jsonFlag = (about = 'print JSON on stdout'): Flag<boolean | undefined> => flag('--json', about)

export const configFlags = (about = 'settings file (default: scripstream.config.json)') => ({
  config: flag('--config <file>', about),
})

export const folderFlags = (outText = 'output folder (default: ./data)') => ({
  out: flag('-o, --out <dir>', outText),
  ...configFlags(),
})

const MAX_SIMULATED_STOCKS = 10_000
const SIMULATED_STOCKS = 500

export const integerOption = <Usual extends number | undefined = undefined>(
  flags: string,
  about: string,
  [min, max]: readonly [number, number],
  usual?: Usual,
): Flag<number | Usual> =>
  new Option(flags, about)
    .argParser((value) => readInteger(flags.replace(/ .*/, ''), value, min, max))
    .default(usual)

export const choiceOption = <Choice extends string>(
  flags: string,
  about: string,
  choices: readonly Choice[],
): Flag<Choice | undefined> =>
  new Option(flags, about)
    .choices(choices)
    .argParser(readChoice(`${flags.replace(/ .*/, '')}: unknown value`, choices))

export const choiceArgument = (name: string, text: string, choices: readonly string[]): Argument =>
  new Argument(name, text)
    .choices(choices)
    .argParser(readChoice(`unknown ${name.replace(/\W/g, '')}`, choices))

const readChoice = (problem: string, choices: readonly string[]) => (value: string) => {
  if (choices.includes(value)) return value
  throw new UsageError(
    `${problem} ${quoteValue(value)}${suggest(findClosest(value, choices))}; use ${joinWords(choices, 'or')}`,
  )
}

export const dayOption = (flags: string, text: string): Flag<string | undefined> =>
  new Option(flags, text).argParser((value) => checkDay(flags.replace(/ .*/, ''), value))

/** A day as it was typed; `what` names the option or command. @throws UsageError if it is none */
export const checkDay = (what: string, value: string): string => {
  if (DayText.safeParse(value).success) return value
  throw new UsageError(`${what}: invalid date ${quoteValue(value)}; use YYYY-MM-DD`)
}

export const stocksOption = <Usual extends number | undefined = undefined>(
  flags: string,
  text: string,
  usual?: Usual,
): Flag<number | Usual> => integerOption(flags, text, [1, MAX_SIMULATED_STOCKS], usual)

export const simulateOption = (text = 'use the built-in simulator'): Flag<number | undefined> =>
  stocksOption('--simulate [stocks]', `${text} (default: ${SIMULATED_STOCKS} stocks)`).preset(
    String(SIMULATED_STOCKS),
  )

export const streamsOption = (
  flag: string,
  text: string,
  streams: NamedStreams,
): Flag<readonly string[] | undefined> => namesOption(flag, text, toValidNames(streams))

export const withOption = (streams: readonly StreamDefinition[]) =>
  streamsOption(
    '--with',
    'these optional streams, too',
    streams.filter(({ optional }) => optional),
  )

/** The flags by which a run chooses what is collected. */
export const selectionFlags = (streams: readonly StreamDefinition[], io: Pick<ProcessIo, 'scheduler'>) => ({
  only: streamsOption('--only', 'only these streams and those that they need', streams),
  skip: streamsOption('--skip', 'all streams except these', streams),
  with: withOption(streams),
  symbols: symbolsOption(),
  asOf: asOfOption(io),
})

export const namesOption = <Name extends string>(
  flag: string,
  text: string,
  names: ValidNames<Name>,
): Flag<readonly Name[] | undefined> =>
  listFlag(`${flag} <${names.what}s>`, text, (list) => readNames(flag, list, names))

/** A repeatable option, with all that its texts name, each once. */
export const listFlag = <T>(
  flags: string,
  about: string,
  read: (text: string) => readonly T[],
): Flag<readonly T[] | undefined> =>
  new Option(flags, about).argParser((text: string, before: readonly T[] = []) => [
    ...new Set([...before, ...read(text)]),
  ])

export const engineOption = () =>
  flag('--engine <url>', 'Redis of the fleet, redis://HOST (or SCRIPSTREAM_ENGINE)')
export const blobsOption = () => flag('--blobs <dir>', 'shared folder of the fleet (or SCRIPSTREAM_BLOBS)')
export const volatileOption = () => flag('--allow-volatile', 'accept a Redis that may lose data')

export const DayText = z.iso.date()

interface ValidNames<Name extends string = string> {
  readonly what: string
  readonly known: readonly Name[]
  readonly listedBy: string
  /** Other words by which a name may be meant. */
  readonly words?: ReadonlyMap<string, string>
}

type NamedStreams = readonly Pick<StreamDefinition, 'name' | 'outputs'>[]

/** A stream may also be meant by a word of its name or by one of its tables. */
const toValidNames = (streams: NamedStreams): ValidNames => ({
  what: 'stream',
  known: streams.map(({ name }) => name),
  listedBy: '"scripstream list"',
  words: new Map([
    ...streams.flatMap(({ name }) => name.split('-').map((word) => [word, name] as const)),
    ...streams.flatMap(({ name, outputs }) =>
      outputs.flatMap(({ tables = [] }) => tables.map((table) => [table.name, name] as const)),
    ),
  ]),
})

export const findStream = (word: string, streams: NamedStreams): string | undefined =>
  toValidNames(streams).words?.get(word)

export const readStreams = (flag: string, text: string, streams: NamedStreams): readonly string[] =>
  readNames(flag, text, toValidNames(streams))

const readNames = <Name extends string>(
  flag: string,
  text: string,
  { what, known, listedBy, words = new Map() }: ValidNames<Name>,
): readonly Name[] => {
  const names = trimDistinct(text.split(','))
  if (names.length === 0)
    throw new UsageError(`${flag}: no ${what} in ${quoteValue(text)}; ${listedBy} lists them`)
  for (const name of names) {
    if (known.some((one) => one === name)) continue
    const meant =
      words.get(name) ?? findClosest(name, known) ?? words.get(findNearMatch(name, [...words.keys()]) ?? '')
    throw new UsageError(
      `${flag}: unknown ${what} ${quoteValue(name)}${suggest(meant)}\n${listedBy} lists them all`,
    )
  }
  return names as readonly Name[]
}

export const readInteger = (flag: string, text: string, min: number, max: number): number => {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max))
    throw new UsageError(`${flag}: ${quoteValue(text)} is not a whole number from ${min} to ${max}`)
  return value
}

export const readJsonFile = <T>(flag: string, path: string, schema: z.ZodType<T>): T => {
  try {
    return parseOptions(schema, JSON.parse(readFlagFile(path, flag)), `${flag}: ${path} has invalid content`)
  } catch (error) {
    throw error instanceof UsageError
      ? error
      : new UsageError(`${flag}: ${path} is not JSON: ${formatError(error)}`)
  }
}

/** The text of a file that a flag or a setting names; `-` is stdin. */
export const readFlagFile = (path: string, flag: string): string => {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8').replace(/^\ufeff/, '')
  } catch (error) {
    const message = `${flag}: the file ${quoteValue(path)} cannot be read: ${describeFileError(error, 'read')}`
    throw new UsageError(message, { issues: [{ path: flag, message }] })
  }
}

/** The texts without blanks around them, each once; empty ones are left out. */
export const trimDistinct = (texts: readonly string[]): readonly string[] => [
  ...new Set(texts.map((text) => text.trim()).filter((text) => text !== '')),
]

export const quoteValue = (text: string): string => JSON.stringify(text)

const EXAMPLE_COLUMNS = 80

export const exampleText = (list: readonly (readonly [command: string, note: string])[]): string => {
  const lines = list.flatMap(([example, note]) => {
    const command = adaptCommands(example)
    const whole = `  ${command}  # ${note}`
    return whole.length <= EXAMPLE_COLUMNS ? [whole] : [`  ${command}`, `      ${note}`]
  })
  return ['', 'Examples:', ...lines, ''].join('\n')
}

/**
 * The symbols of `--symbols`, and whether a wrong one is an error: one that was typed is, one of a watchlist
 * is reported.
 */
export type SymbolSelection = Pick<RunOptions, 'symbols' | 'wrongSymbols'>

/** `--symbols`. Its text is read once the settings, which may have watchlists, are known. */
export const symbolsOption = (text = 'only these stocks') =>
  flag('--symbols <symbols>', `${text}: A,B, @WATCHLIST or @FILE`)

/**
 * Reads `--symbols`: `A,B`; or `@NAME`, the watchlist of this name in the settings or the file. A name with a
 * dot or a slash is a file.
 *
 * @throws UsageError if there is no such file or watchlist, if there are both, or if there is no symbol in it
 */
export const readSymbols = (
  text: string | undefined,
  { watchlists }: Pick<Settings, 'watchlists'>,
): SymbolSelection => {
  if (text === undefined) return {}
  const isList = text.startsWith('@')
  const symbols = isList ? readWatchlist(text.slice(1), watchlists) : trimDistinct(text.split(','))
  if (symbols.length === 0)
    throw new UsageError(`--symbols: no symbol in ${JSON.stringify(text)}; use A,B, @WATCHLIST or @FILE`)
  return { symbols, wrongSymbols: isList ? 'report' : 'reject' }
}

const readWatchlist = (name: string, watchlists: Settings['watchlists']): readonly string[] => {
  const list = Object.hasOwn(watchlists, name) ? watchlists[name] : undefined
  if (list === undefined) {
    if (/[./\\]/.test(name) || name === '-' || statFile(name)) return readSymbolFile(name)
    throw new UsageError(
      `--symbols: there is no watchlist and no file ${JSON.stringify(name)}${suggestWatchlist(name, Object.keys(watchlists))}`,
    )
  }
  if (statFile(name))
    throw new UsageError(
      `--symbols: ${name} is a watchlist in the settings and also a file; write @./${name} for the file, or rename one of the two`,
    )
  return readWatchedSymbols(name, list)
}

const readWatchedSymbols = (name: string, list: Settings['watchlists'][string]): readonly string[] =>
  typeof list === 'string' ? readSymbolFile(list.slice(1), `watchlists.${name}`) : trimDistinct(list)

/** The symbols of each watchlist in the settings; `onFailure` gets why one cannot be read. */
export const readWatchlists = (
  { watchlists }: Pick<Settings, 'watchlists'>,
  onFailure: (error: UsageError) => void = () => undefined,
): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(
    Object.entries(watchlists).flatMap(([name, list]) => {
      try {
        return [[name, readWatchedSymbols(name, list)]]
      } catch (error) {
        if (!(error instanceof UsageError)) throw error
        onFailure(error)
        return []
      }
    }),
  )

const suggestWatchlist = (name: string, known: readonly string[]): string => {
  if (known.length === 0) return '; give the path of a file, or set "watchlists" in scripstream.config.json'
  const near = findClosest(name, known)
  return `${near === undefined ? '' : ` (did you mean @${near}?)`}; watchlists: ${known.join(', ')}`
}

/** One symbol per line, or with commas between; `#` starts a comment. */
const readSymbolFile = (path: string, named = '--symbols'): readonly string[] =>
  trimDistinct(
    readFlagFile(path, named)
      .replace(/#.*$/gm, '')
      .split(/[\r\n,]/),
  )

const InstantText = z.iso.datetime({ offset: true })

/** The instant (epoch milliseconds) of `--as-of`: a day means its end in India. */
export const parseAsOf = (text: string): number => {
  if (DayText.safeParse(text).success) return toDayEnd(text)
  const instant = InstantText.safeParse(text).success ? Date.parse(text) : Number.NaN
  if (Number.isNaN(instant)) {
    throw new UsageError(
      `--as-of: invalid date ${quoteValue(text)}; use YYYY-MM-DD, or a timestamp such as 2026-02-12T20:00:00+05:30`,
    )
  }
  return instant
}

/** `--as-of` of the commands that send requests. Refuses what is later than the clock. */
export const asOfOption = ({ scheduler }: Pick<ProcessIo, 'scheduler'>): Flag<number | undefined> =>
  new Option('--as-of <iso>', 'as of this day (its end in India) or time (with offset)').argParser((text) => {
    const [instant, now] = [parseAsOf(text), scheduler.now()]
    if (!isAfterClock(instant, now)) return instant
    throw new UsageError(
      `--as-of: ${text} is later than the clock of this machine, ${formatMinute(now)}; name today or an earlier day, or leave out --as-of`,
    )
  })

const RECORDED_WORDS: Readonly<Record<AsOfSession['recorded'], string>> = {
  following: ' and are not recorded (--record-late records them, marked as late)',
  all: ' and are recorded, marked as late',
  none: '',
}

/**
 * Which outputs of a run are of the session of `--as-of`, which are of today, and what is recorded, in one
 * line.
 */
export const describeAsOfSession = ({ session, due, following, others, recorded }: AsOfSession): string => {
  const own =
    following.length === 0
      ? 'no output is'
      : `${following.join(', ')} ${following.length === 1 ? 'is' : 'are'}`
  const rest =
    others.length === 1
      ? others[0]
      : `${following.length === 0 ? 'all' : 'the other'} ${formatQuantity(others.length, 'stream')}`
  return `As of ${session}: ${own} of that session; the outputs of ${rest} are of today (session ${due})${RECORDED_WORDS[recorded]}.`
}
