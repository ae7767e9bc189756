import { request as sendRequest } from 'node:http'
import { connect as connectSocket } from 'node:net'
import { serveHttp } from '../http/support.js'

/**
 * A proxy that wants `user:p@ss` and connects every host to `port` of this machine; without a port it answers
 * by itself.
 */
export const serveProxy = async (port: number, refusal?: string) => {
  const seen: string[] = []
  const isAllowed = (header = ''): boolean =>
    header === `Basic ${Buffer.from('user:p@ss').toString('base64')}`
  const proxy = await serveHttp((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.host}`)
    const { 'proxy-authorization': authorization, ...headers } = request.headers
    if (!isAllowed(authorization)) return void response.writeHead(407).end('who are you?')
    if (port === 0) return void response.end('proxied')
    const { pathname, search } = new URL(request.url ?? '')
    const target = { port, host: '127.0.0.1', path: pathname + search, method: request.method, headers }
    request.pipe(
      sendRequest(target, (reply) => {
        response.writeHead(reply.statusCode ?? 502, reply.headers)
        reply.pipe(response)
      }).on('error', () => response.destroy()),
    )
  })
  proxy.server.on('connect', (request, socket) => {
    seen.push(`CONNECT ${request.url}`)
    const answer = isAllowed(request.headers['proxy-authorization'])
      ? refusal
      : '407 Proxy Authentication Required'
    socket.on('error', () => undefined)
    if (answer !== undefined) return void socket.end(`HTTP/1.1 ${answer}\r\n\r\n`)
    const target = connectSocket(port, '127.0.0.1', () =>
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n'),
    )
    target.on('error', () => socket.destroy())
    socket.on('close', () => target.destroy())
    socket.pipe(target).pipe(socket)
  })
  return { seen, address: (user = '') => proxy.url.replace('//', `//${user}`) }
}
