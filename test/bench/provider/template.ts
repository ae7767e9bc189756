/** A complete response about one stock, with the offsets of its ISIN. */
export interface Template {
  readonly response: Buffer
  readonly offsets: readonly number[]
  readonly lowerCaseOffsets: readonly number[]
}

const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  400: 'Bad Request',
  404: 'Not Found',
  429: 'Too Many Requests',
  503: 'Service Unavailable',
}

/** A response as it is sent. */
export const createResponse = (status: number, type: string, body: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(
      `HTTP/1.1 ${status} ${REASONS[status] ?? ''}\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n`,
    ),
    body,
  ])

export const createJsonResponse = (value: unknown, status = 200): Buffer =>
  createResponse(status, 'application/json', Buffer.from(JSON.stringify(value)))

/** The template of an answer about the stock with an ISIN, or about no stock. */
export const createTemplate = (value: unknown, isin?: string): Template => {
  const response = createJsonResponse(value)
  if (isin === undefined) return { response, offsets: [], lowerCaseOffsets: [] }
  return {
    response,
    offsets: findOffsets(response, isin),
    lowerCaseOffsets: findOffsets(response, isin.toLowerCase()),
  }
}

/** The answer about another stock: a copy with the ISIN of that stock. */
export const fillTemplate = (
  { response, offsets: places, lowerCaseOffsets: lowerPlaces }: Template,
  isin: string,
): Buffer => {
  if (places.length + lowerPlaces.length === 0) return response
  const copy = Buffer.allocUnsafe(response.length)
  response.copy(copy)
  for (const place of places) copy.write(isin, place, 'latin1')
  const lower = isin.toLowerCase()
  for (const place of lowerPlaces) copy.write(lower, place, 'latin1')
  return copy
}

const findOffsets = (bytes: Buffer, text: string): readonly number[] => {
  const places: number[] = []
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) places.push(at)
  return places
}

/** The answer to a request. Its body is created when it is sent, so that waiting answers need no memory. */
export interface BenchAnswer {
  readonly endpoint: string
  /** Identifies the requests that a run may send only once. */
  readonly key: string
  readonly response: () => Buffer
  /** The reason if the request is invalid. */
  readonly violation?: string
}

export const createViolation = (endpoint: string, message: string): BenchAnswer => ({
  endpoint,
  key: message,
  violation: `${endpoint}: ${message}`,
  response: () => createJsonResponse({ message }, 400),
})

/** Makes the answers of one endpoint large but valid: a text of `bytes` bytes in addition to the rows. */
export interface Padding {
  readonly endpoint: string
  readonly bytes: number
}

/** Splits responses into pieces, so that all of them share the text in memory. */
export const createPadding = () => {
  let padding: Padding | undefined
  let text = Buffer.alloc(0)
  return {
    set: (next: Padding | null): void => {
      padding = next ?? undefined
      text = Buffer.alloc(padding?.bytes ?? 0, 'x')
    },
    splitIntoPieces: (endpoint: string, response: Buffer): readonly Buffer[] => {
      if (padding?.endpoint !== endpoint) return [response]
      const body = response.toString('utf8', response.indexOf('\r\n\r\n') + 4)
      const [start, end] = [Buffer.from(`${body.slice(0, -1)},"padding":"`), Buffer.from('"}')]
      const length = start.length + text.length + end.length
      const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`
      return [Buffer.from(head), start, text, end]
    },
  }
}

/** The 429 of a rate limit, without Retry-After. */
export const tooManyRequests = createJsonResponse({ message: 'too many requests' }, 429)
