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
    Buffer.from(`HTTP/1.1 ${status} ${REASONS[status] ?? ''}\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n`),
    body,
  ])

export const createJsonResponse = (value: unknown, status = 200): Buffer =>
  createResponse(status, 'application/json', Buffer.from(JSON.stringify(value)))

/** The template of an answer about the stock with an ISIN, or about no stock. */
export const createTemplate = (value: unknown, isin?: string): Template => {
  const response = createJsonResponse(value)
  if (isin === undefined) return { response, offsets: [], lowerCaseOffsets: [] }
  return { response, offsets: findOffsets(response, isin), lowerCaseOffsets: findOffsets(response, isin.toLowerCase()) }
}

/** The answer about another stock: a copy with the ISIN of that stock. */
export const fillTemplate = ({ response, offsets: places, lowerCaseOffsets: lowerPlaces }: Template, isin: string): Buffer => {
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
