import { jsonResponse } from './template.js'

/** Answers of one endpoint that are valid and large: a text of so many bytes stands beside the rows. */
export interface Padding {
  readonly endpoint: string
  readonly bytes: number
}

/** The response as it is sent in pieces, so that all answers share the text. */
export const createPadding = () => {
  let padding: Padding | undefined
  let text = Buffer.alloc(0)
  return {
    set: (next: Padding | null): void => {
      padding = next ?? undefined
      text = Buffer.alloc(padding?.bytes ?? 0, 'x')
    },
    piecesOf: (endpoint: string, response: Buffer): readonly Buffer[] => {
      if (padding?.endpoint !== endpoint) return [response]
      const body = response.toString('utf8', response.indexOf('\r\n\r\n') + 4)
      const [start, end] = [Buffer.from(`${body.slice(0, -1)},"padding":"`), Buffer.from('"}')]
      const length = start.length + text.length + end.length
      const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`
      return [Buffer.from(head), start, text, end]
    },
  }
}

/** What a provider that limits the rate answers; it names no pause. */
export const tooManyRequests = jsonResponse({ message: 'too many requests' }, 429)
