import type { Socket } from 'node:net'

const CONTINUE = 'HTTP/1.1 100'
const BLANK_LINE = '\r\n\r\n'
/** undici's own limit for the head of an answer. */
const LONGEST = 16_384

/**
 * Skips every `100 Continue` in front of an answer, as RFC 9110 (15.2) demands even of a client that did not ask for one; undici closes
 * the connection at it ("bad response"). undici itself skips other interim responses, such as 103 Early Hints.
 */
export const withoutContinue = <S extends Socket>(socket: S): S => {
  const write = socket.write.bind(socket) as (...args: readonly unknown[]) => boolean
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null
  let isHeadDue = false
  let waiting: Buffer | undefined
  socket.write = (...args: readonly unknown[]) => {
    // What comes next is the head of an answer: there is one request at a time.
    isHeadDue = true
    return write(...args)
  }
  socket.read = (size?: number) => {
    for (let chunk = read(size); chunk !== null; chunk = read(size)) {
      if (!isHeadDue) return chunk
      const { rest, isHead } = past(waiting === undefined ? chunk : Buffer.concat([waiting, chunk]))
      waiting = isHead ? undefined : rest
      isHeadDue = !isHead
      if (isHead) return rest
    }
    return null
  }
  return socket
}

/** The bytes after all that was skipped, and whether they are the head of the answer, or the incomplete head of one more to skip. */
const past = (bytes: Buffer): { readonly rest: Buffer; readonly isHead: boolean } => {
  let rest = bytes
  while (CONTINUE.startsWith(rest.toString('latin1', 0, CONTINUE.length))) {
    const end = rest.indexOf(BLANK_LINE)
    // undici refuses it.
    if (end < 0) return { rest, isHead: rest.length > LONGEST }
    rest = rest.subarray(end + BLANK_LINE.length)
  }
  return { rest, isHead: true }
}
