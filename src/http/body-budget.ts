import { gunzip } from 'node:zlib'
import { TransportError } from '../model/errors.js'

/** The share of the budget that one response body uses. */
export interface BodyShare {
  /** Counts received bytes; calls `pause` if the budget is exceeded. */
  readonly take: (bytes: number) => void
  /** The body was decoded or discarded. Idempotent. */
  readonly release: () => void
}

/** Bounds the bytes of all response bodies that are being received or wait to be decoded. */
export interface BodyBudget {
  readonly open: (flow: { readonly pause: () => void; readonly resume: () => void }) => BodyShare
}

/** Far more than usual bodies need together; two bodies of the maximum size. */
const MAX_BYTES = 64 * 1024 * 1024

/**
 * Above the limit only one body is received further, until it ends and frees memory; the other sockets are paused (back-pressure). Memory
 * never exceeds the limit plus one body of the maximum size.
 */
export const createBodyBudget = (limit = MAX_BYTES): BodyBudget => {
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
    open: ({ pause, resume }) => {
      let own = 0
      const share = { go: resume }
      return {
        take: (bytes) => {
          own += bytes
          total += bytes
          if (total <= limit || favoured === share || paused.has(share)) return
          if (favoured === undefined) favoured = share
          else {
            paused.add(share)
            pause()
          }
        },
        release: () => {
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
