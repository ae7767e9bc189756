import type { Socket } from 'node:net'

const CONTINUE = 'HTTP/1.1 100'
const BLANK_LINE = '\r\n\r\n'
/** undici's limit for the head of a response. */
const MAX_HEAD_BYTES = 16_384

/**
 * Skips `100 Continue` in front of a response. RFC 9110 (15.2) requires that even of a client that did not expect one, but undici closes
 * the connection ("bad response"). undici itself skips other interim responses, such as 103 Early Hints.
 */
export const skipContinue = <S extends Socket>(socket: S): S => {
  const write = socket.write.bind(socket) as (...args: readonly unknown[]) => boolean
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null
  let isHeadDue = false
  let waiting: Buffer | undefined
  socket.write = (...args: readonly unknown[]) => {
    // The next bytes are the head of a response: without pipelining there is one request at a time.
    isHeadDue = true
    return write(...args)
  }
  socket.read = (size?: number) => {
    for (let chunk = read(size); chunk !== null; chunk = read(size)) {
      if (!isHeadDue) return chunk
      const { rest, isHead } = skipInterimHeads(waiting === undefined ? chunk : Buffer.concat([waiting, chunk]))
      waiting = isHead ? undefined : rest
      isHeadDue = !isHead
      if (isHead) return rest
    }
    return null
  }
  return socket
}

/** The bytes behind the skipped responses, and whether they start the final head (not one more, incomplete `100 Continue`). */
const skipInterimHeads = (bytes: Buffer): { readonly rest: Buffer; readonly isHead: boolean } => {
  let rest = bytes
  while (CONTINUE.startsWith(rest.toString('latin1', 0, CONTINUE.length))) {
    const end = rest.indexOf(BLANK_LINE)
    // Too long: pass it on, undici refuses it.
    if (end < 0) return { rest, isHead: rest.length > MAX_HEAD_BYTES }
    rest = rest.subarray(end + BLANK_LINE.length)
  }
  return { rest, isHead: true }
}
