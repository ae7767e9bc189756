import type { HttpRequest } from '../../src/http/transport.js'

/**
 * Gives each request bytes of its own, as a real provider does: a run refuses the same for different items.
 * Line ends behind a JSON make no other answer.
 */
export const createOwnBytes = () => {
  const seen = new Map<string, number>()
  return (content: string | Uint8Array, { url, body = '' }: Pick<HttpRequest, 'url' | 'body'>): Buffer => {
    const place = seen.get(url + body) ?? seen.size
    seen.set(url + body, place)
    const bytes = Buffer.from(content as string)
    return bytes.length === 0 ? bytes : Buffer.concat([bytes, Buffer.from('\n'.repeat(place))])
  }
}
