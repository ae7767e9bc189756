import type { HttpReply } from './transport.js'

/** Header fields of a reply by name, in lower case. */
export type ReplyHeaders = Readonly<Record<string, string | string[] | undefined>>

/** The reply that a transport emits, with those header fields that are used. */
export const toHttpReply = (status: number, headers: ReplyHeaders, body: Uint8Array): HttpReply => {
  const { location, 'retry-after': retryAfter, 'content-type': contentType } = headers
  return {
    status,
    body,
    ...(headers['content-length'] === undefined && headers['transfer-encoding'] === undefined ? { isUnframed: true } : {}),
    ...(typeof retryAfter === 'string' ? { retryAfter } : {}),
    ...(typeof location === 'string' ? { location } : {}),
    ...(typeof contentType === 'string' ? { contentType } : {}),
  }
}
