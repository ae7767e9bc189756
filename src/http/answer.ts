import { isAscii, isUtf8, transcode } from 'node:buffer'
import { parse as parseCsv } from 'csv-parse/sync'
import type { z } from 'zod'
import { BadAnswerError, CollectError, formatError, HttpError, ThrottledError } from '../model/errors.js'
import type { FailedResponse } from '../model/failed-exchange.js'
import type { Redact } from '../model/redact.js'
import { isRow, type Row, readText } from '../model/row.js'
import { asBuffer, parseRetryAfter, repairJson } from '../model/text.js'
import type { ShapeWatch } from './drift.js'
import type { AnswerInspector, AnyEndpoint, Endpoint } from './endpoint.js'
import type { CachedReply, HttpReply, HttpRequest } from './transport.js'

interface ReplyContext<Input, Answer> {
  readonly endpoint: Endpoint<Input, Answer>
  readonly item: string
  readonly earlierIsins?: readonly string[] | undefined
  readonly shapes: ShapeWatch | undefined
  /** The base of `Retry-After`, epoch milliseconds. */
  readonly now: number
}

/**
 * The answer of an endpoint in its reply.
 *
 * @throws the error of any reply but a 200 with a body, or what `read` of the endpoint throws
 */
export const decodeReply = <Input, Answer>(
  reply: HttpReply,
  input: Input,
  { endpoint, item, earlierIsins, shapes, now }: ReplyContext<Input, Answer>,
): Answer => {
  checkReply(reply, now)
  const answer = endpoint.readBytes?.(reply.body)
  if (answer === undefined)
    return endpoint.read(readReplyText(reply, endpoint), input, shapes?.forItem(item), earlierIsins)
  shapes?.countAsExpected()
  return answer
}

const checkReply = ({ status, body, retryAfter }: HttpReply, now: number): void => {
  if (status === 200 && body.length > 0) return
  if (status === 200) throw new BadAnswerError('empty', 'the body is empty')
  const pauseMs = parseRetryAfter(retryAfter, now)
  if (status === 429) throw new ThrottledError(pauseMs)
  throw new HttpError(status, pauseMs, wantsTls(status, body) ? { advice: 'needs-tls' } : {})
}

/** The page of nginx, Apache or Go for plain HTTP on a port of TLS. */
const WANTS_TLS = /plain HTTP (?:request was sent )?to (?:an )?(?:HTTPS|SSL)|HTTP request to an HTTPS server/i

const wantsTls = (status: number, body: Uint8Array): boolean =>
  status === 400 && WANTS_TLS.test(Buffer.from(body.subarray(0, MAX_BYTES_READ)).toString('latin1'))

/**
 * The text of a reply, with well-formed characters. Without a stated length, truncated JSON or HTML still
 * lacks its end, but a CSV that lost its last lines looks complete.
 */
const readReplyText = ({ body, isUnframed }: HttpReply, { type }: Pick<AnyEndpoint, 'type'>): string => {
  const isCsv = type === 'text/csv'
  if (isUnframed && isCsv)
    throw new BadAnswerError('truncated', 'the CSV may be incomplete: the reply states no length')
  const text = decodeUtf8(body)
  return isCsv ? text.replaceAll('\0', '\ufffd') : repairJson(text)
}

/**
 * Without a byte order mark. `TextDecoder` takes five times as long for ASCII, and four times as long for
 * other text.
 */
const decodeUtf8 = (body: Uint8Array): string => {
  if (isAscii(body)) return asBuffer(body).toString('latin1')
  if (!isUtf8(body)) throw new BadAnswerError('encoding', 'the body is not UTF-8')
  const text = transcode(body, 'utf8', 'ucs2').toString('ucs2')
  return text.startsWith('\ufeff') ? text.slice(1) : text
}

/** How old the copies of a cache may be. */
export interface AgeRules {
  /** The current instant, epoch milliseconds; also the base of `Retry-After`. */
  readonly clock: () => number
  /** Told once for an endpoint that a cache answered for it, with an answer of more than an hour ago. */
  readonly onCached?: (text: string) => void
  /**
   * Whether an answer of that instant is from before the end of the last session: such a copy is refused, and
   * one of more than a day ago.
   */
  readonly isOld?: (sentAt: number) => boolean
}

const MAX_AGE_SECONDS = 3_600
const OLD_SECONDS = 86_400

/** Checks the age of each answer of an endpoint. */
export const createAgeCheck = ({ name }: AnyEndpoint, { clock, onCached, isOld }: AgeRules) => {
  let isTold = false
  return (cache: CachedReply | undefined): void => {
    if (cache === undefined || (cache.age <= MAX_AGE_SECONDS && !cache.isStale)) return
    const age = cache.age > 0 ? `${Math.round(cache.age / 3_600)} h old` : 'of unknown age'
    const old = `${age} (${cache.shown})`
    const isFromBefore = cache.age > MAX_AGE_SECONDS && isOld?.(clock() - cache.age * 1_000)
    if (cache.age > OLD_SECONDS || isFromBefore)
      throw new BadAnswerError('stale', `the answer is a copy of a cache, ${old}`)
    if (!isTold) onCached?.(`${name} was answered from a cache, ${old}`)
    isTold = true
  }
}

interface RequestRoute<Input> {
  readonly endpoint: Endpoint<Input, unknown>
  readonly stream?: string | undefined
  readonly redact: Redact
  readonly toRequest: (input: Input) => Pick<HttpRequest, 'url'>
}

/** An error of this package with the request that failed, and what was replied; any other error as it is. */
export const addExchange = <Input>(
  error: unknown,
  { endpoint, stream, redact, toRequest }: RequestRoute<Input>,
  { input, item }: { readonly input: Input; readonly item: string },
  reply?: HttpReply,
): unknown => {
  if (!(error instanceof CollectError) || error.request !== undefined) return error
  const { method, host, path } = endpoint
  return error.during({
    request: { method, host, path, url: redact(toRequest(input).url), stream, item },
    response: reply && describeResponse(reply, redact),
  })
}

const MAX_BYTES_READ = 4_096
const MAX_CHARACTERS_SHOWN = 60

export const describeResponse = (
  { status, contentType, body, location }: HttpReply,
  redact: Redact,
  maxCharacters = MAX_CHARACTERS_SHOWN,
): FailedResponse => {
  const [type, start] = [formatContentType(contentType), formatStart(body, maxCharacters)]
  return {
    status,
    type: type && redact(type),
    bytes: body.length,
    start: start && redact(start),
    location: location && redact(location),
  }
}

/** Without parameters. An invalid value is dropped: it may be anything, of any length. */
const formatContentType = (contentType = ''): string | undefined => {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? ''
  return /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type.slice(0, MAX_CHARACTERS_SHOWN) : undefined
}

/** The title or the text of an HTML page, or the beginning of other text, in quotes. */
const formatStart = (body: Uint8Array, maxCharacters: number): string | undefined => {
  const start = Buffer.from(body.subarray(0, MAX_BYTES_READ))
  const text = start.toString('utf8').trim()
  if (text === '') return undefined
  if (isBinary(text)) return `bytes ${start.toString('hex', 0, 8)}`
  const shown = (text.startsWith('<') ? extractText(text) : text).replace(/\s+/g, ' ').trim()
  if (shown === '') return undefined
  return JSON.stringify(shown.length > maxCharacters ? `${shown.slice(0, maxCharacters)}…` : shown)
}

const isBinary = (text: string): boolean => /[\0\ufffd]/.test(text.slice(0, 16))

const extractText = (page: string): string => {
  const title = findBetween(page, '<title', '</title')
  return title ?? page.replace(/<(script|style)\b[\s\S]*?<\/\1>|<[^>]*>?/gi, ' ')
}

/** The text between two tags; nothing if it is blank. */
const findBetween = (page: string, start: string, end: string): string | undefined => {
  const small = page.toLowerCase()
  const from = page.indexOf('>', small.indexOf(start)) + 1
  const text = small.includes(start) && from > 0 ? page.slice(from, small.indexOf(end, from)).trim() : ''
  return text === '' ? undefined : text
}

/** Far deeper than any real answer, and still safe for recursive code. */
const MAX_DEPTH = 64

// Each function makes a `read` for an endpoint. It ignores the input of the request and passes the parsed
// answer to the drift check.

/**
 * Reads JSON and validates it by a schema.
 *
 * @throws BadAnswerError, in the returned function, for a text that is not JSON or not of that shape
 * @example post({ name: 'chain', host: 'options', path: '/chain', input, read: (text) => json(Rows)(text).data ?? [] })
 */
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
    const value = assertSuccess(parseBoundedJson(text.slice(from + 'setResponse('.length, to)))
    inspect?.(value)
    return applySchema(shape, value)
  }

/** Reads the JSON in the script element `__NEXT_DATA__` of a page of the web site. */
export const pageJson =
  <T>(shape: z.ZodType<T>) =>
  (text: string): T => {
    const data = findNextData(text)
    if (data === undefined)
      throw new BadAnswerError('schema', 'the page has no complete __NEXT_DATA__ element')
    return applySchema(shape, parseBoundedJson(data))
  }

/**
 * Reads a CSV into records by its header. Header names and cells are trimmed and stay text. All `columns`
 * must be in the header.
 *
 * @throws BadAnswerError, in the returned function, for a text that is not such a CSV
 * @example get({ name: 'list', host: 'archive', path: '/list.csv', input: z.strictObject({}), read: csv(['SYMBOL', 'SERIES']) })
 */
export const csv =
  (columns: readonly string[]) =>
  (text: string, _?: unknown, inspect?: AnswerInspector): readonly Row[] => {
    if (text.trimStart().startsWith('<')) throw toBadAnswer(text, 'a page')
    const rows = parseTable(text)
    // A comma at the end of each line is no column.
    const names = (rows.shift() ?? []).map((name) => name.trim())
    if (rows.some((cells) => cells.slice(names.length).some((cell) => cell.trim() !== '')))
      throw new BadAnswerError('parse', 'a row of the CSV has more cells than its header')
    const isEmpty = (index: number): boolean => rows.every((cells) => (cells[index] ?? '').trim() === '')
    const used = names.flatMap((name, index) =>
      name === '' && isEmpty(index) ? [] : [[name, index] as const],
    )
    const header = used.map(([name]) => name)
    const columnNames = Object.fromEntries(header.map((name) => [name, '']))
    inspect?.([columnNames, ...rows.slice(1, 3).map(() => columnNames)])
    const missing = columns.filter((column) => !header.includes(column))
    if (missing.length > 0) throw new BadAnswerError('schema', `the CSV has no column ${missing.join(', ')}`)
    return rows.map((cells) =>
      Object.fromEntries(used.map(([name, index]) => [name, (cells[index] ?? '').trim()])),
    )
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

export const parseTable = (text: string): string[][] => {
  try {
    return parseCsv(text, {
      skip_empty_lines: true,
      trim: true,
      relax_quotes: true,
      record_delimiter: LINE_ENDS,
      relax_column_count_more: true,
    })
  } catch (error) {
    throw new BadAnswerError('parse', formatError(error))
  }
}

const parseBoundedJson = (text: string): unknown => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw toBadAnswer(text, error instanceof SyntaxError ? 'invalid or truncated JSON' : formatError(error))
  }
  if (isDeeperThan(MAX_DEPTH, value))
    throw new BadAnswerError('schema', `the answer is nested more than ${MAX_DEPTH} levels deep`)
  return value
}

/** Rejects a 200 whose body reports a failure; it must not count as an empty answer. */
const assertSuccess = (value: unknown): unknown => {
  if (!isRow(value) || hasContent(value.data) || !reportsFailure(value)) return value
  const details = [value.errors].flat().filter(isRow).map(describeDetail).join('; ')
  const message =
    readText(value.message) || readText(value.error) || details || JSON.stringify(value).slice(0, 80)
  throw new BadAnswerError('schema', `the provider reports a failure: ${message}`)
}

const describeDetail = ({ reason, message, detailed_message }: Row): string =>
  [reason, message, detailed_message]
    .map((text) => readText(text).slice(0, 200))
    .filter((text) => text !== '')
    .join(', ')

const reportsFailure = ({ success, status, code, error, errors }: Row): boolean =>
  success === false ||
  /^false$/i.test(readText(success)) ||
  /^(error|fail|failed|failure)$/i.test(readText(status)) ||
  [status, code].some((number) => Number(readText(number)) >= 400) ||
  [error, errors].some((detail) => detail === true || readText(detail) !== '' || hasContent(detail))

const hasContent = (data: unknown): boolean =>
  Array.isArray(data) ? data.length > 0 : isRow(data) && Object.keys(data).length > 0

const applySchema = <T>(shape: z.ZodType<T>, value: unknown): T => {
  const result = shape.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new BadAnswerError(
    'schema',
    `${issue?.path.join('.') || 'the answer'}: ${issue?.message ?? 'unexpected shape'}`,
  )
}

const toBadAnswer = (text: string, reason: string): BadAnswerError => {
  const start = text.trimStart()
  if (start.startsWith('<')) return new BadAnswerError('html', 'the answer is an HTML page')
  return new BadAnswerError('parse', start === '' ? 'the body is empty' : reason)
}

/** A tag with attributes, each pattern in linear time. One as long as this is none of the site's. */
const SCRIPT = /<script\s([^<>]{1,2000})>/gi
const IS_NEXT_DATA = /(?:^|\s)id\s*=\s*(["']?)__NEXT_DATA__\1(?:\s|$)/i
const END = /<\/script[\s>]/i

/** The content of a page's script element `__NEXT_DATA__`; nothing if there is no complete one. */
const findNextData = (page: string): string | undefined => {
  for (const { 0: tag, 1: attributes = '', index } of page.matchAll(SCRIPT)) {
    if (!IS_NEXT_DATA.test(attributes)) continue
    const content = page.slice(index + tag.length)
    const end = content.search(END)
    return end < 0 ? undefined : content.slice(0, end)
  }
  return undefined
}

/** Whether a parsed value is nested deeper than a number of levels: level by level, without recursion. */
const isDeeperThan = (levels: number, value: unknown): boolean => {
  let level: readonly unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: object[] = []
    for (const container of level) {
      if (typeof container !== 'object' || container === null) continue
      if (depth === levels) return true
      if (Array.isArray(container)) {
        for (const inner of container) if (typeof inner === 'object' && inner !== null) next.push(inner)
        continue
      }
      for (const name in container) {
        const inner = (container as Row)[name]
        if (typeof inner === 'object' && inner !== null) next.push(inner)
      }
    }
    level = next
  }
  return false
}
