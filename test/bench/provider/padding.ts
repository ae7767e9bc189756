import { createJsonResponse } from './template.js'

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
