import { stripVTControlCharacters } from 'node:util'
import stringWidth from 'string-width'
import { formatNumber as formatCount, toTwoDigits } from '../../model/format.js'

export { formatBytes, formatNumber as formatCount, formatQuantity, toTwoDigits } from '../../model/format.js'

// Control characters, line separators, and marks that change the text direction.
const UNSAFE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\u061c\u200e\u200f\ufeff]+/gu
// Only characters of one column: the usual text needs no table. The marks are those of the progress display.
const ONE_COLUMN_EACH =
  /^[ -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2030-\u203b\u20b9\u2190-\u2193\u2500-\u259f\u25b8\u2714\u2716]*$/

/** Makes text from outside safe for a terminal: one line, without escape sequences and control characters. */
export const sanitize = (text: string): string => stripVTControlCharacters(text).replace(UNSAFE, ' ')

/** The same, without blanks around it. */
export const clean = (text: string): string => sanitize(text).trim()

export const width = (text: string): number => (ONE_COLUMN_EACH.test(text) ? text.length : stringWidth(text))

/** A longer part of a word is shown although it is cut: an address, a list without blanks. */
const MAX_WORD = 15

/**
 * The text in at most `columns`; an ellipsis replaces the rest, from the start of a word unless that is long
 * or most of what fits.
 */
export const cut = (text: string, columns: number): string => {
  if (width(text) <= columns) return text
  if (columns <= 1) return columns === 1 ? '…' : ''
  const taken = takeColumns(text, columns - 1)
  const words = /^\s/.test(text.slice(taken.length)) ? taken : taken.slice(0, taken.lastIndexOf(' ') + 1)
  const lost = taken.length - words.length
  return `${lost <= MAX_WORD && lost < words.length ? words.replace(/[\s,;:·-]+$/, '') : taken}…`
}

const takeColumns = (text: string, columns: number): string => {
  if (ONE_COLUMN_EACH.test(text)) return text.slice(0, columns)
  let [taken, room] = ['', columns]
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(text)) {
    room -= width(segment)
    if (room < 0) break
    taken += segment
  }
  return taken
}

export const padEnd = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - width(text)))
export const padStart = (text: string, columns: number): string =>
  ' '.repeat(Math.max(0, columns - width(text))) + text

/** A command in quotes, or at the end of a text. */
const COMMAND =
  /"(?:node (?:'[^']*'|\S+)|(?:npx )?scripstream) [^"]+"|(?<=: )(?:node (?:'[^']*'|\S+)|(?:npx )?scripstream) [^()"<[]+$/g

/**
 * Wraps a text at spaces into lines of at most `columns`, indenting all but the first by `hang` more; a
 * longer word stays whole, and so does a command, so that it can be copied.
 */
export const wrap = (text: string, columns: number, hang = 2): readonly string[] => {
  const [margin = ''] = /^ */.exec(text) ?? []
  const lines: string[] = []
  let line = margin
  let isFirst = true
  const joined = text.trim().replace(COMMAND, (command) => command.replaceAll(' ', '\0'))
  // A number stays with its unit.
  for (const part of joined.split(/(?<!₹) (?!%|crore\b)/)) {
    const word = part.replaceAll('\0', ' ')
    if (!isFirst && width(line) + 1 + width(word) > columns) {
      lines.push(line)
      line = `${margin}${' '.repeat(hang)}${word}`
    } else line += isFirst ? word : ` ${word}`
    isFirst = false
  }
  return [...lines, line]
}

const MIN_HELP_WIDTH = 16

/**
 * Folds the lines of a help that are too long, each under its own text, or below its name where that leaves
 * no room. Commands stay whole, so that they can be copied.
 */
export const foldHelp = (text: string, columns: number): string =>
  text
    .split('\n')
    .flatMap((line) => {
      const [head = ''] = /^ *(?:\S.*? {2,})?/.exec(line) ?? []
      if (width(line) <= columns || (head === '  ' && /scripstream(?:\.cjs'?)? /.test(line))) return [line]
      const rest = line.slice(head.length)
      const isNarrow = columns - head.length < Math.max(MIN_HELP_WIDTH, ...rest.split(' ').map(width))
      if (isNarrow)
        return [head.trimEnd(), ...wrap(`      ${rest}`, columns, 0)].filter((part) => part !== '')
      const [first = '', ...more] = wrap(' '.repeat(head.length) + rest, columns, 0)
      return [head + first.slice(head.length), ...more]
    })
    .join('\n')

/** `3.1s`, `12s`, `3m05s`, `1h02m` */
export const formatDuration = (ms: number): string => {
  const tenths = Math.round(Math.max(0, ms) / 100)
  return tenths < 100 ? `${(tenths / 10).toFixed(1)}s` : formatSeconds(Math.round(Math.max(0, ms) / 1_000))
}

export const formatCountdown = (ms: number): string => formatSeconds(Math.ceil(Math.max(0, ms) / 1_000))

const formatSeconds = (seconds: number): string => {
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60
    ? `${minutes}m${toTwoDigits(seconds % 60)}s`
    : `${formatCount(Math.floor(minutes / 60))}h${toTwoDigits(minutes % 60)}m`
}

/** `0.4/s`, `125/s`; empty if nothing is done or no time has passed. */
export const formatRate = (done: number, ms: number): string => {
  if (done <= 0 || ms <= 0) return ''
  const perSecond = (done * 1_000) / ms
  return `${perSecond < 9.95 ? perSecond.toFixed(1) : formatCount(perSecond)}/s`
}
