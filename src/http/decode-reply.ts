import { defer, map, type OperatorFunction, tap } from 'rxjs'
import { CollectError, HttpError, ThrottledError } from '../model/errors.js'
import type { AnyEndpoint } from './endpoint.js'
import type { HttpReply } from './transport.js'

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

export interface ReplyObserver {
  /** The current instant, epoch milliseconds. */
  readonly clock: () => number
  readonly watch: ((end: RequestEnd) => void) | undefined
}

/** Decodes the reply to one request. Adds the request and a description of the reply to an error, at no cost for a success. */
export const decodeReply =
  <Answer>(
    endpoint: AnyEndpoint,
    read: (reply: HttpReply) => Answer,
    { clock, watch }: ReplyObserver,
  ): OperatorFunction<HttpReply, Answer> =>
  (reply$) => {
    const decode = (reply: HttpReply): Answer => {
      try {
        return read(reply)
      } catch (error) {
        if (error instanceof CollectError) error.answered = describeBody(reply)
        throw error
      }
    }
    const nameRequest = (error: unknown): void => {
      if (error instanceof CollectError) error.requested = `${endpoint.method} ${endpoint.host} ${endpoint.path}`
    }
    if (watch === undefined) return reply$.pipe(map(decode), tap({ error: nameRequest }))
    return defer(() => {
      const { arrived, end } = createEndReporter(endpoint, { clock, watch })
      return reply$.pipe(
        tap(arrived),
        map(decode),
        tap({
          next: () => end(),
          error: (error: unknown) => {
            nameRequest(error)
            end(toFailureCode(error))
          },
          unsubscribe: () => end('cancelled'),
        }),
      )
    })
  }

const createEndReporter = (endpoint: AnyEndpoint, { clock, watch }: ReplyObserver) => {
  const at = clock()
  let isOpen = true
  let arrival: Pick<RequestEnd, 'status' | 'bytes' | 'ms'> | undefined
  return {
    arrived: ({ status, body }: HttpReply): void => {
      arrival = { status, bytes: body.length, ms: clock() - at }
    },
    end: (failure?: string): void => {
      if (isOpen) watch?.({ endpoint, at, failure, ...(arrival ?? { status: undefined, bytes: 0, ms: clock() - at }) })
      isOpen = false
    },
  }
}

const toFailureCode = (error: unknown): string => {
  if (error instanceof HttpError || error instanceof ThrottledError) return error.status
  return error instanceof CollectError && 'reason' in error && typeof error.reason === 'string' ? error.reason : 'error'
}

const MAX_BYTES_READ = 4_096
const MAX_CHARACTERS_SHOWN = 60

/** Describes a reply in a few words: `text/html, 812 B, "Access Denied"`. An HTML page shows its title, or its text. */
export const describeBody = ({ contentType, body }: HttpReply): string =>
  [...formatContentType(contentType), formatSize(body.length), ...formatStart(body)].join(', ')

/** Without parameters. An invalid value is dropped: it may be anything, of any length. */
const formatContentType = (contentType = ''): readonly string[] => {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? ''
  return /^[\w.+-]+\/[\w.+-]+$/.test(type) ? [type.slice(0, MAX_CHARACTERS_SHOWN)] : []
}

const formatSize = (bytes: number): string =>
  bytes === 0 ? 'empty body' : bytes < 10_000 ? `${bytes} B` : `${Math.round(bytes / 1_000)} kB`

const formatStart = (body: Uint8Array): readonly string[] => {
  const start = Buffer.from(body.subarray(0, MAX_BYTES_READ))
  const text = start.toString('utf8').trim()
  if (text === '') return []
  if (isBinary(text)) return [`bytes ${start.toString('hex', 0, 8)}`]
  const shown = (text.startsWith('<') ? extractText(text) : text).replace(/\s+/g, ' ').trim()
  return shown === '' ? [] : [JSON.stringify(shown.length > MAX_CHARACTERS_SHOWN ? `${shown.slice(0, MAX_CHARACTERS_SHOWN)}…` : shown)]
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
