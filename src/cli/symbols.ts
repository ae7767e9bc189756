import type { RunOptions } from '../engine/run-options.js'
import { UsageError } from '../model/errors.js'
import type { Settings } from '../model/settings.js'
import { findClosest } from '../model/text.js'
import { statFile } from '../storage/file-system.js'
import { flag, readText, trimDistinct } from './options.js'

/** The symbols of `--symbols`, and whether a wrong one is an error: one that was typed is, one of a watchlist is reported. */
export type SymbolSelection = Pick<RunOptions, 'symbols' | 'wrongSymbols'>

/** `--symbols`. Its text is read once the settings, which may have watchlists, are known. */
export const symbolsOption = (text = 'only these stocks') => flag('--symbols <symbols>', `${text}: A,B, @WATCHLIST or @FILE`)

/**
 * Reads `--symbols`: `A,B`; or `@NAME`, the watchlist of this name in the settings or the file. A name with a dot or a slash is a file.
 *
 * @throws UsageError if there is no such file or watchlist, if there are both, or if there is no symbol in it
 */
export const readSymbols = (text: string | undefined, { watchlists }: Pick<Settings, 'watchlists'>): SymbolSelection => {
  if (text === undefined) return {}
  const isList = text.startsWith('@')
  const symbols = isList ? readWatchlist(text.slice(1), watchlists) : trimDistinct(text.split(','))
  if (symbols.length === 0) throw new UsageError(`--symbols: no symbol in ${JSON.stringify(text)}; use A,B, @WATCHLIST or @FILE`)
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
  return readList(list)
}

const readList = (list: Settings['watchlists'][string]): readonly string[] =>
  typeof list === 'string' ? readSymbolFile(list.slice(1)) : trimDistinct(list)

export const readWatchlists = ({ watchlists }: Pick<Settings, 'watchlists'>): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(
    Object.entries(watchlists).flatMap(([name, list]) => {
      try {
        return [[name, readList(list)]]
      } catch (error) {
        if (error instanceof UsageError) return []
        throw error
      }
    }),
  )

const suggestWatchlist = (name: string, known: readonly string[]): string => {
  if (known.length === 0) return '; give the path of a file, or set "watchlists" in scripstream.config.json'
  const near = findClosest(name, known)
  return `${near === undefined ? '' : ` (did you mean @${near}?)`}; watchlists: ${known.join(', ')}`
}

/** One symbol per line, or with commas between; `#` starts a comment. */
const readSymbolFile = (path: string): readonly string[] =>
  trimDistinct(
    readText(path, '--symbols')
      .replace(/#.*$/gm, '')
      .split(/[\r\n,]/),
  )
