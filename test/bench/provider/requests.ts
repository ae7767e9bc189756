import type { Socket } from 'node:net'

/** A request as it arrived. */
export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly type: string
  readonly body: string
}

/** @param bytes the request as it arrived */
export type Handle = (asked: ReceivedRequest, socket: Socket, bytes: Buffer) => void

/**
 * Reads the requests of a keep-alive connection. It supports only the HTTP of the clients here:
 * content-length, no chunks.
 */
export const readRequests = (socket: Socket, handle: Handle): void => {
  let rest: Buffer | undefined
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: Buffer) => {
    let bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk])
    rest = undefined
    while (bytes.length > 0) {
      const read = parseRequest(bytes)
      if (read === undefined) {
        rest = bytes
        return
      }
      const request = bytes.subarray(0, read.length)
      bytes = bytes.subarray(read.length)
      handle(read.asked, socket, request)
    }
  })
}

const parseRequest = (
  bytes: Buffer,
): { readonly asked: ReceivedRequest; readonly length: number } | undefined => {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const head = bytes.toString('latin1', 0, end)
  const length = end + 4 + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
  if (bytes.length < length) return undefined
  const [method = '', path = ''] = head.slice(0, head.indexOf('\r\n')).split(' ', 2)
  const type = /\r\ncontent-type: *([^\r;]+)/i.exec(head)?.[1] ?? ''
  return { asked: { method, path, type, body: bytes.toString('utf8', end + 4, length) }, length }
}
