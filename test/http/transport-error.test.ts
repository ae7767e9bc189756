import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { describeTransportError } from '../../src/http/transport-errors.js'
import { temporaryFolder } from '../support/folders.js'
import { connect, failureOf, getOf, serveHttp } from './support.js'

const failing = (code: string): Error => Object.assign(new Error(`it failed: ${code}`), { code })

describe('a failed connection', () => {
  it.each([
    ['ENOTFOUND', 'dns', 'wait'],
    ['EAI_AGAIN', 'dns', 'wait'],
    ['ECONNREFUSED', 'connect', 'wait'],
    ['ENETUNREACH', 'connect', 'wait'],
    ['UND_ERR_CONNECT_TIMEOUT', 'connect', 'wait'],
    ['UND_ERR_HEADERS_TIMEOUT', 'deadline', 'retry'],
    ['UND_ERR_BODY_TIMEOUT', 'deadline', 'retry'],
    ['ECONNRESET', 'reset', 'retry'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls', 'give-up'],
    ['CERT_HAS_EXPIRED', 'tls', 'give-up'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls', 'give-up'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls', 'give-up'],
  ])('with the code %s is reported as %s, with the verdict %s', (code, reason, verdict) => {
    expect(describeTransportError(failing(code), false)).toMatchObject({ reason, verdict, status: 'error' })
  })

  it('is a truncated body if the reply had begun', () => {
    expect(describeTransportError(failing('ECONNRESET'), true)).toMatchObject({
      reason: 'truncated',
      verdict: 'retry',
    })
  })
})

describe('a host that cannot be trusted', () => {
  const noOpenssl =
    spawnSync('openssl', ['version']).status === 0 ? '' : ' (skipped: openssl is not installed)'
  it.skipIf(noOpenssl !== '')(`is rejected when its certificate is self-signed${noOpenssl}`, async () => {
    const folder = temporaryFolder()
    const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
    const files = ['-keyout', key, '-out', cert]
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, ...subject], {
      stdio: 'ignore',
    })
    let requests = 0
    const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_, response) => {
      requests += 1
      response.end('x')
    })
    onTestFinished(() => void server.close())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    expect(await failureOf(connect().send(getOf(`https://127.0.0.1:${port}`)))).toMatchObject({
      reason: 'tls',
      verdict: 'give-up',
    })
    expect(requests).toBe(0)
  })

  it('is rejected when it does not speak TLS on an https address', async () => {
    const { url } = await serveHttp((_, response) => response.end('x'))
    expect(await failureOf(connect().send(getOf(url.replace('http:', 'https:'))))).toMatchObject({
      reason: 'tls',
      verdict: 'give-up',
    })
  })
})
