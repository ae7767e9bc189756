import { BadAnswerError, type FailedResponse } from '../model/errors.js'
import type { Redact } from '../model/redact.js'
import { repairJson } from '../model/text.js'
import type { AnyEndpoint } from './endpoint.js'
import type { HttpReply } from './transport.js'

/** One attempt of a request that is about to be sent. */
export interface RequestStart {
  readonly endpoint: AnyEndpoint
  /** Epoch milliseconds. */
  readonly at: number
  /** Without secrets: its query is masked. */
  readonly url: string
  /** The stock, index or list. */
  readonly item: string
  /** 0 for the first attempt, 1 for the first retry. */
  readonly attempt: number
}

/** The end of one request, without its input and headers. */
export interface RequestEnd {
  readonly endpoint: AnyEndpoint
  /** When it was sent, epoch milliseconds. */
  readonly at: number
  /** Duration until the reply was complete, or the request failed. */
  readonly ms: number
  /** Absent without a complete reply. */
  readonly status: number | undefined
  /** Size of the decompressed body. */
  readonly bytes: number
  /** The code of the failure: `http_403`, `rate_limit`, `html`, `deadline`, `cancelled`; absent on success. */
  readonly failure: string | undefined
}

/** Follows one attempt of a request. */
export interface RequestFollower {
  /** Must call `send` once, at once. What runs within it, such as the client of HTTP, belongs to the request. */
  readonly run: (send: () => void) => void
  readonly end: (end: RequestEnd) => void
}

/** Observes the requests of a stream. */
export interface RequestWatch {
  readonly begin?: ((start: RequestStart) => RequestFollower) | undefined
  readonly end: (end: RequestEnd) => void
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * The text of a reply, with well-formed characters. Without a stated length, truncated JSON or HTML still lacks its end, but a CSV that lost
 * its last lines looks complete.
 */
export const readReplyText = ({ body, isUnframed }: HttpReply, { type }: Pick<AnyEndpoint, 'type'>): string => {
  const isCsv = type === 'text/csv'
  if (isUnframed && isCsv) throw new BadAnswerError('truncated', 'the CSV may be incomplete: the reply states no length')
  const text = decodeUtf8(body)
  return isCsv ? text.replaceAll('\0', '\ufffd') : repairJson(text)
}

const decodeUtf8 = (body: Uint8Array): string => {
  try {
    return utf8.decode(body)
  } catch {
    throw new BadAnswerError('encoding', 'the body is not UTF-8')
  }
}

const MAX_BYTES_READ = 4_096
const MAX_CHARACTERS_SHOWN = 60

/** Describes the reply to a failed request. */
export const describeResponse = ({ status, contentType, body }: HttpReply, redact: Redact): FailedResponse => {
  const [type, start] = [formatContentType(contentType), formatStart(body)]
  return { status, type: type && redact(type), bytes: body.length, start: start && redact(start) }
}

/** Without parameters. An invalid value is dropped: it may be anything, of any length. */
const formatContentType = (contentType = ''): string | undefined => {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? ''
  return /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type.slice(0, MAX_CHARACTERS_SHOWN) : undefined
}

/** The title or the text of an HTML page, or the beginning of other text, in quotes. */
const formatStart = (body: Uint8Array): string | undefined => {
  const start = Buffer.from(body.subarray(0, MAX_BYTES_READ))
  const text = start.toString('utf8').trim()
  if (text === '') return undefined
  if (isBinary(text)) return `bytes ${start.toString('hex', 0, 8)}`
  const shown = (text.startsWith('<') ? extractText(text) : text).replace(/\s+/g, ' ').trim()
  if (shown === '') return undefined
  return JSON.stringify(shown.length > MAX_CHARACTERS_SHOWN ? `${shown.slice(0, MAX_CHARACTERS_SHOWN)}…` : shown)
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
