import { gunzip } from 'node:zlib'
import { TransportError } from '../model/errors.js'

export type BodyBudget = ReturnType<typeof createBodyBudget>

/** The share of the budget that one response body uses. */
export type BodyShare = ReturnType<BodyBudget['open']>

/** Far more than usual bodies need together; two bodies of the maximum size. */
const MAX_BYTES = 64 * 1024 * 1024

/**
 * Bounds the bytes of all response bodies that are being received or wait to be decoded. Above the limit only one body is received further, until it ends and frees memory; the other sockets are paused (back-pressure). Memory
 * never exceeds the limit plus one body of the maximum size.
 */
export const createBodyBudget = (limit = MAX_BYTES) => {
  const paused = new Set<{ readonly go: () => void }>()
  let total = 0
  let favoured: object | undefined
  const resumePaused = (): void => {
    for (const next of paused) {
      if (total > limit && favoured !== undefined) return
      if (total > limit) favoured = next
      paused.delete(next)
      next.go()
    }
  }
  return {
    open: ({ pause, resume }: { readonly pause: () => void; readonly resume: () => void }) => {
      let own = 0
      const share = { go: resume }
      return {
        /** Counts received bytes; calls `pause` if the budget is exceeded. */
        take: (bytes: number): void => {
          own += bytes
          total += bytes
          if (total <= limit || favoured === share || paused.has(share)) return
          if (favoured === undefined) favoured = share
          else {
            paused.add(share)
            pause()
          }
        },
        /** The body was decoded or discarded. Idempotent. */
        release: (): void => {
          total -= own
          own = 0
          paused.delete(share)
          if (favoured === share) favoured = undefined
          if (paused.size > 0) resumePaused()
        },
      }
    },
  }
}

/** Limit of a body, compressed and decompressed. The largest answer of a whole market is a third of it. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024

/** Joins the chunks of a body and decompresses it. A body above the limit or an encoding other than gzip is an error. */
export const unpack = (encoding: unknown, chunks: readonly Buffer[], done: (error: Error | null, whole: Buffer) => void): void => {
  const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
  if (encoding === 'gzip') gunzip(body, { maxOutputLength: MAX_BODY_BYTES }, done)
  else if (encoding === undefined || encoding === 'identity') done(null, body)
  else done(new TransportError('protocol', `unsupported content-encoding ${String(encoding)}`), body)
}
