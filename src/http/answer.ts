import { parse as parseCsv } from 'csv-parse/sync'
import type { z } from 'zod'
import { BadAnswerError, formatError } from '../model/errors.js'
import { isRow, type Row, readText } from '../model/row.js'
import { isDeeperThan } from './depth.js'
import type { AnswerInspector } from './endpoint.js'
import { findNextData } from './next-data.js'

/** Far deeper than any real answer, and still safe for recursive code. */
const MAX_DEPTH = 64

// Each function makes a `read` for an endpoint. It ignores the input of the request and passes the parsed answer to the drift check.

/** Reads JSON and validates it by a schema. */
export const json =
  <T>(shape: z.ZodType<T>) =>
  (text: string, _?: unknown, inspect?: AnswerInspector): T => {
    const value = assertSuccess(parseBoundedJson(text))
    inspect?.(value)
    return applySchema(shape, value)
  }

/** Reads JSON inside a function call, as the spreadsheet service sends it: `…setResponse({…});`. */
export const wrappedJson =
  <T>(shape: z.ZodType<T>) =>
  (text: string, _?: unknown, inspect?: AnswerInspector): T => {
    const from = text.indexOf('setResponse(')
    const to = text.lastIndexOf(')')
    if (from < 0 || to < from) throw toBadAnswer(text, 'no setResponse(…)')
    const value = parseBoundedJson(text.slice(from + 'setResponse('.length, to))
    inspect?.(value)
    return applySchema(shape, value)
  }

/** Reads the JSON in the script element `__NEXT_DATA__` of a page of the web site. */
export const pageJson =
  <T>(shape: z.ZodType<T>) =>
  (text: string): T => {
    const data = findNextData(text)
    if (data === undefined) throw new BadAnswerError('schema', 'the page has no complete __NEXT_DATA__ element')
    return applySchema(shape, parseBoundedJson(data))
  }

/** Reads a CSV into records by its header. Header names and cells are trimmed and stay text. All `columns` must be in the header. */
export const csv =
  (columns: readonly string[]) =>
  (text: string, _?: unknown, inspect?: AnswerInspector): readonly Row[] => {
    if (text.trimStart().startsWith('<')) throw toBadAnswer(text, 'a page')
    const rows = parseTable(text)
    const header = (rows.shift() ?? []).map((name) => name.trim())
    const columnNames = Object.fromEntries(header.map((name) => [name, '']))
    inspect?.([columnNames, ...rows.slice(1, 3).map(() => columnNames)])
    const missing = columns.filter((column) => !header.includes(column))
    if (missing.length > 0) throw new BadAnswerError('schema', `the CSV has no column ${missing.join(', ')}`)
    return rows.map((cells) => Object.fromEntries(header.map((name, index) => [name, (cells[index] ?? '').trim()])))
  }

/** Reads a CSV; one without rows is an error. */
export const filledCsv = (columns: readonly string[]) => {
  const read = csv(columns)
  return (text: string, _?: unknown, inspect?: AnswerInspector): readonly Row[] => {
    const rows = read(text, undefined, inspect)
    if (rows.length === 0) throw new BadAnswerError('schema', 'the CSV has a header but no rows')
    return rows
  }
}

/** Tried in this order; one text may mix them. */
const LINE_ENDS = ['\r\n', '\n', '\r']

/** The cells of a CSV, trimmed, row by row. */
export const parseTable = (text: string): string[][] => {
  try {
    return parseCsv(text, { skip_empty_lines: true, trim: true, relax_quotes: true, record_delimiter: LINE_ENDS })
  } catch (error) {
    throw new BadAnswerError('parse', formatError(error))
  }
}

const parseBoundedJson = (text: string): unknown => {
  const value = parseJson(text)
  if (isDeeperThan(MAX_DEPTH, value, text)) throw new BadAnswerError('schema', `the answer is nested more than ${MAX_DEPTH} levels deep`)
  return value
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw toBadAnswer(text, error instanceof SyntaxError ? 'invalid or truncated JSON' : formatError(error))
  }
}

/** Rejects a 200 whose body reports a failure; it must not count as an empty answer. */
const assertSuccess = (value: unknown): unknown => {
  if (!isRow(value) || hasContent(value.data) || !reportsFailure(value)) return value
  const message = readText(value.message) || readText(value.error) || JSON.stringify(value).slice(0, 80)
  throw new BadAnswerError('schema', `the provider reports a failure: ${message}`)
}

const reportsFailure = ({ success, status, code, error, errors }: Row): boolean =>
  success === false ||
  /^false$/i.test(readText(success)) ||
  /^(error|fail|failed|failure)$/i.test(readText(status)) ||
  [status, code].some((number) => Number(readText(number)) >= 400) ||
  [error, errors].some((detail) => detail === true || readText(detail) !== '' || hasContent(detail))

const hasContent = (data: unknown): boolean => (Array.isArray(data) ? data.length > 0 : isRow(data) && Object.keys(data).length > 0)

const applySchema = <T>(shape: z.ZodType<T>, value: unknown): T => {
  const result = shape.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new BadAnswerError('schema', `${issue?.path.join('.') || 'the answer'}: ${issue?.message ?? 'unexpected shape'}`)
}

const toBadAnswer = (text: string, reason: string): BadAnswerError => {
  const start = text.trimStart()
  if (start.startsWith('<')) return new BadAnswerError('html', 'the answer is an HTML page')
  return new BadAnswerError('parse', start === '' ? 'the body is empty' : reason)
}
