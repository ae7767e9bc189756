import { gunzip } from 'node:zlib'
import { TransportError } from '../model/errors.js'

/** As it is sent, and unpacked. The longest answer of a whole market is a third of it. */
export const LONGEST_BODY = 32 * 1024 * 1024

/** Puts a body together and unpacks it: what is longer than any answer once it is unpacked is an error, and so is a packing that nobody asked for. */
export const unpack = (encoding: unknown, chunks: readonly Buffer[], done: (error: Error | null, whole: Buffer) => void): void => {
  const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
  if (encoding === 'gzip') gunzip(body, { maxOutputLength: LONGEST_BODY }, done)
  else if (encoding === undefined || encoding === 'identity') done(null, body)
  else done(new TransportError('protocol', `unasked content-encoding ${String(encoding)}`), body)
}
