import { execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { lastValueFrom } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findProxy } from '../../src/http/proxy.js'
import { UsageError } from '../../src/model/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { serveProxy } from '../support/proxy.js'
import { closedPort, connect, failureOf, getOf, serveHttp } from './support.js'

describe('the proxy for an address', () => {
  const env = { HTTPS_PROXY: 'http://user:secret@proxy:3128', http_proxy: 'plain:80' }
  const shownFor = (address: string, more: NodeJS.ProcessEnv = {}) =>
    findProxy(address, { ...env, ...more })?.shown

  it('is that of its scheme; the variable may be in lower case, and its value without a scheme', () => {
    expect(findProxy('https://news.example/x', env)).toEqual({
      url: 'http://user:secret@proxy:3128',
      shown: 'http://proxy:3128',
      variable: 'HTTPS_PROXY',
    })
    expect(findProxy('http://news.example', env)).toMatchObject({
      url: 'http://plain:80',
      shown: 'http://plain',
      variable: 'http_proxy',
    })
    expect(findProxy('https://news.example', { HTTP_PROXY: 'http://proxy' })).toBeUndefined()
    expect(findProxy('https://news.example', { HTTPS_PROXY: ' ' })).toBeUndefined()
  })

  it.each(['http://127.0.0.1:80', 'https://localhost', 'https://a.localhost:1', 'https://[::1]:9'])(
    'is none for this machine: %s',
    (address) => {
      expect(shownFor(address)).toBeUndefined()
    },
  )

  it.each([
    ['*', false],
    ['news.example', false],
    ['example', false],
    ['.example', false],
    ['*.EXAMPLE', false],
    ['other, news.example:443', false],
    ['other news.example', false],
    ['news.example:8443', true],
    ['ews.example', true],
    ['api.news.example', true],
    ['', true],
  ])('with NO_PROXY %j is used: %s', (noProxy, isUsed) => {
    expect(shownFor('https://news.example/x', { NO_PROXY: noProxy }) !== undefined).toBe(isUsed)
    expect(shownFor('https://news.example/x', { no_proxy: noProxy, NO_PROXY: '' }) !== undefined).toBe(isUsed)
  })

  it.each(['socks5://proxy:1', 'http://', 'http://a:b%@proxy', 'ht tp://s:ecret@x'])(
    'is refused without showing the value: %s',
    (value) => {
      expect(() => findProxy('https://news.example', { HTTPS_PROXY: value })).toThrow(UsageError)
      expect(() => findProxy('https://news.example', { HTTPS_PROXY: value })).toThrow(
        /^HTTPS_PROXY is not .* \(value not shown\)$/,
      )
    },
  )
})

/** A TLS server with a certificate for news.example that nobody has signed. */
const serveTls = async () => {
  const folder = temporaryFolder()
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
  const subject = ['-subj', '/CN=news.example', '-addext', 'subjectAltName=DNS:news.example']
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...subject],
    { stdio: 'ignore' },
  )
  const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) =>
    response.end(`tls ${request.url}`),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, cert }
}

const hasOpenssl = (() => {
  try {
    return execFileSync('openssl', ['version']).length > 0
  } catch {
    return false
  }
})()

describe('a request through a proxy', () => {
  it('of plain http names the whole address and has the credentials of the proxy', async () => {
    const { seen, address } = await serveProxy(0)
    const headers = Object.freeze({ accept: 'x' })
    const { send } = connect({ env: { HTTP_PROXY: address('user:p%40ss@') } })
    const reply = await lastValueFrom(send(getOf('http://news.example:81/a?b=1', { headers })))
    expect(String(reply.body)).toBe('proxied')
    expect(seen).toEqual(['GET http://news.example:81/a?b=1 news.example:81'])
  })

  it.each(['http', 'https'])(
    'of %s fails at once, without the credentials in its message, if the proxy rejects them',
    async (scheme) => {
      const { seen, address } = await serveProxy(0)
      const { send } = connect({
        env: { HTTP_PROXY: address('user:wrong@'), HTTPS_PROXY: address('user:wrong@') },
      })
      const error = await failureOf(send(getOf(`${scheme}://news.example/`)))
      expect(error).toMatchObject({ code: 'proxy', verdict: 'give-up' })
      expect(error.message).toBe(
        `proxy: the proxy ${address()} (${scheme.toUpperCase()}_PROXY) requires a user name and a password, or rejects them (407)`,
      )
      expect(seen).toHaveLength(1)
    },
  )

  it.each([
    ['403 Forbidden', { code: 'proxy', verdict: 'give-up' }, 'refuses this host (403)'],
    ['503 Unavailable', { code: 'connect', verdict: 'wait' }, 'cannot reach the host (503)'],
  ])('says so when the proxy answers %s', async (refusal, kind, text) => {
    const { address } = await serveProxy(0, refusal)
    const error = await failureOf(
      connect({ env: { HTTPS_PROXY: address('user:p%40ss@') } }).send(getOf('https://news.example/')),
    )
    expect(error).toMatchObject(kind)
    expect(error.message).toContain(`the proxy ${address()} (HTTPS_PROXY) ${text}`)
  })

  it.each(['http', 'https'])('of %s waits for a proxy that is down, and names it', async (scheme) => {
    const dead = await closedPort()
    const error = await failureOf(
      connect({ env: { HTTP_PROXY: dead, HTTPS_PROXY: dead } }).send(getOf(`${scheme}://news.example/`)),
    )
    expect(error).toMatchObject({ code: 'connect', verdict: 'wait' })
    expect(error.message).toMatch(
      /^connect: the proxy http:\/\/127.0.0.1:\d+ \(HTTPS?_PROXY\) is not reachable: 127.0.0.1:\d+ refuses connections$/,
    )
  })

  it.skipIf(!hasOpenssl)(
    'of https checks the certificate of the host behind it (skipped without openssl)',
    async () => {
      const { port } = await serveTls()
      const { seen, address } = await serveProxy(port)
      const error = await failureOf(
        connect({ env: { HTTPS_PROXY: address('user:p%40ss@') } }).send(getOf('https://news.example/x')),
      )
      expect(error).toMatchObject({ code: 'tls' })
      expect(seen).toEqual(['CONNECT news.example:443'])
    },
  )

  it.skipIf(!hasOpenssl)(
    'of https trusts an authority of NODE_EXTRA_CA_CERTS (skipped without openssl)',
    async () => {
      const { port, cert } = await serveTls()
      const { seen, address } = await serveProxy(port)
      const script = `import { openConnections } from ${JSON.stringify(new URL('../../dist/src/http/connections.js', import.meta.url).href)}
      const { send, close } = openConnections()
      const request = { method: 'GET', url: 'https://news.example/x', headers: {}, timeoutMs: 5000 }
      send(request).subscribe({ next: ({ body }) => console.log(String(body)), error: (error) => console.log(error.message), complete: close })`
      const env = { PATH: process.env.PATH, HTTPS_PROXY: address('user:p%40ss@'), NODE_EXTRA_CA_CERTS: cert }
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        env,
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      expect(await text(child.stdout)).toBe('tls /x\n')
      expect(seen).toEqual(['CONNECT news.example:443'])
    },
  )

  it('is not made where NO_PROXY names the host, or for this machine', async () => {
    const { url } = await serveHttp((_, response) => response.end('direct'))
    const { send } = connect({ env: { HTTP_PROXY: await closedPort() } })
    expect(String((await lastValueFrom(send(getOf(url)))).body)).toBe('direct')
  })
})
