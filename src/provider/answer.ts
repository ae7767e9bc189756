import { parse as parseCsv } from 'csv-parse/sync'
import type { z } from 'zod'
import { BadAnswer, messageOf } from '../model/errors.js'
import { isRow, type Row, textOf } from '../model/row.js'
import { isDeeperThan } from './depth.js'
import { nextDataIn } from './next-data.js'
import type { Seen } from './shape.js'

/** Far deeper than any answer is; what recurses over one is safe down to there. */
const DEEPEST = 64

// Each of these does as an endpoint's `read`: what was asked is of no interest to it, and what was parsed is shown to `seen`.

/** Reads a JSON text in the given shape. */
export const json =
  <T>(shape: z.ZodType<T>) =>
  (text: string, _?: unknown, seen?: Seen): T => {
    const value = succeeded(parsed(text))
    seen?.(value)
    return shaped(shape, value)
  }

/** Reads the JSON inside a call, as the spreadsheet service wraps it: `…setResponse({…});`. */
export const wrappedJson =
  <T>(shape: z.ZodType<T>) =>
  (text: string, _?: unknown, seen?: Seen): T => {
    const from = text.indexOf('setResponse(')
    const to = text.lastIndexOf(')')
    if (from < 0 || to < from) throw unreadable(text, 'no setResponse(…)')
    const value = parsed(text.slice(from + 'setResponse('.length, to))
    seen?.(value)
    return shaped(shape, value)
  }

/** Reads the JSON that a page of the web site carries in its script element `__NEXT_DATA__`. */
export const pageJson =
  <T>(shape: z.ZodType<T>) =>
  (text: string): T => {
    const data = nextDataIn(text)
    if (data === undefined) throw new BadAnswer('schema', 'the page holds no whole __NEXT_DATA__')
    return shaped(shape, parsed(data))
  }

/** Reads a CSV into records by its header; header names and cells are trimmed and stay text. `columns` must be among the header's. */
export const csv =
  (columns: readonly string[]) =>
  (text: string, _?: unknown, seen?: Seen): readonly Row[] => {
    if (text.trimStart().startsWith('<')) throw unreadable(text, 'a page')
    const rows = tableOf(text)
    const header = (rows.shift() ?? []).map((name) => name.trim())
    const columnNames = Object.fromEntries(header.map((name) => [name, '']))
    seen?.([columnNames, ...rows.slice(1, 3).map(() => columnNames)])
    const missing = columns.filter((column) => !header.includes(column))
    if (missing.length > 0) throw new BadAnswer('schema', `the CSV has no column ${missing.join(', ')}`)
    return rows.map((cells) => Object.fromEntries(header.map((name, place) => [name, (cells[place] ?? '').trim()])))
  }

/** Reads a CSV that is never without rows. */
export const filledCsv = (columns: readonly string[]) => {
  const read = csv(columns)
  return (text: string, _?: unknown, seen?: Seen): readonly Row[] => {
    const rows = read(text, undefined, seen)
    if (rows.length === 0) throw new BadAnswer('schema', 'the CSV holds nothing but its header')
    return rows
  }
}

/** The first that fits ends a line; a text may have all of them. */
const LINE_ENDS = ['\r\n', '\n', '\r']

/** The cells of a CSV, trimmed, row by row. */
export const tableOf = (text: string): string[][] => {
  try {
    return parseCsv(text, { skip_empty_lines: true, trim: true, relax_quotes: true, record_delimiter: LINE_ENDS })
  } catch (error) {
    throw new BadAnswer('parse', messageOf(error))
  }
}

const parsed = (text: string): unknown => {
  const value = parsedJson(text)
  if (isDeeperThan(DEEPEST, value, text)) throw new BadAnswer('schema', `the answer is nested more than ${DEEPEST} deep`)
  return value
}

const parsedJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw unreadable(text, error instanceof SyntaxError ? 'broken or cut JSON' : messageOf(error))
  }
}

/** A 200 can still be a failure, by its own words: it must not pass for an empty answer. */
const succeeded = (value: unknown): unknown => {
  if (!isRow(value) || hasContent(value.data) || !saysFailure(value)) return value
  const said = textOf(value.message) || textOf(value.error) || JSON.stringify(value).slice(0, 80)
  throw new BadAnswer('schema', `the provider says that it failed: ${said}`)
}

const saysFailure = ({ success, status, code, error, errors }: Row): boolean =>
  success === false ||
  /^false$/i.test(textOf(success)) ||
  /^(error|fail|failed|failure)$/i.test(textOf(status)) ||
  [status, code].some((number) => Number(textOf(number)) >= 400) ||
  [error, errors].some((what) => what === true || textOf(what) !== '' || hasContent(what))

const hasContent = (data: unknown): boolean => (Array.isArray(data) ? data.length > 0 : isRow(data) && Object.keys(data).length > 0)

const shaped = <T>(shape: z.ZodType<T>, value: unknown): T => {
  const result = shape.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new BadAnswer('schema', `${issue?.path.join('.') || 'the answer'}: ${issue?.message ?? 'has another shape'}`)
}

const unreadable = (text: string, what: string): BadAnswer => {
  const start = text.trimStart()
  if (start.startsWith('<')) return new BadAnswer('html', 'a page came instead')
  return new BadAnswer('parse', start === '' ? 'the body is empty' : what)
}
