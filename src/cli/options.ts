import { Option } from 'commander'
import { readInteger, readNames, readStreams, type ValidNames } from './values.js'

const MAX_STOCKS = 10_000

/** An option that takes a whole number within bounds. */
export const integerOption = (flags: string, text: string, [min, max]: readonly [number, number]): Option =>
  new Option(flags, text).argParser((value) => readInteger(flags.replace(/ .*/, ''), value, min, max))

/** An option that takes a number of stocks. */
export const stocksOption = (flags: string, text: string): Option => integerOption(flags, text, [1, MAX_STOCKS])

/** A repeatable option that takes names of streams. */
export const streamsOption = (flag: string, text: string, names: readonly string[]): Option =>
  new Option(`${flag} <streams>`, text).argParser((list: string, before: readonly string[] = []) => [
    ...new Set([...before, ...readStreams(flag, list, names)]),
  ])

/** A repeatable option that takes some of the known names. */
export const namesOption = (flag: string, text: string, names: ValidNames): Option =>
  new Option(`${flag} <${names.what}s>`, text).argParser((list: string, before: readonly string[] = []) => [
    ...new Set([...before, ...readNames(flag, list, names)]),
  ])

/** Options of a fleet. */
export const engineOption = (): Option => new Option('--engine <url>', 'Redis of the fleet: redis://host:6379 (or SCRIPSTREAM_ENGINE)')
export const blobsOption = (): Option => new Option('--blobs <dir>', 'folder shared by all machines of the fleet (or SCRIPSTREAM_BLOBS)')
export const volatileOption = (): Option => new Option('--allow-volatile', 'accept a Redis that may lose data')
