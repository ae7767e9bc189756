import { gunzip } from 'node:zlib'
import { TransportError } from '../model/errors.js'

/** Limit of a body, compressed and decompressed. The largest answer of a whole market is a third of it. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024

/** Joins the chunks of a body and decompresses it. A body above the limit or an encoding other than gzip is an error. */
export const unpack = (encoding: unknown, chunks: readonly Buffer[], done: (error: Error | null, whole: Buffer) => void): void => {
  const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
  if (encoding === 'gzip') gunzip(body, { maxOutputLength: MAX_BODY_BYTES }, done)
  else if (encoding === undefined || encoding === 'identity') done(null, body)
  else done(new TransportError('protocol', `unsupported content-encoding ${String(encoding)}`), body)
}
