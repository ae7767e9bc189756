import { describe, expect, it } from 'vitest'
import { toProxyError, toProxyReplyError } from '../../src/http/proxy.js'
import { createOriginRecord, describeTransportError, nameIssuer } from '../../src/http/transport-errors.js'

const failing = (code: string, message = `it failed: ${code}`): Error =>
  Object.assign(new Error(message), { code })

/** What undici says of bytes that are no HTTP. */
const unreadable = (data: string): Error =>
  Object.assign(new Error('Response does not match the HTTP/1.1 protocol'), { name: 'HTTPParserError', data })

const closed = failing('UND_ERR_SOCKET', 'other side closed')
const HTTP = 'http://a.test'
const HTTPS = 'https://a.test'
const HTTP2_SETTINGS = '\0\0\x12\x04\0\0\0\0\0\0\x03'

/** The failures in a row of a host that has not answered, or had answered before. */
const describeInTurn = (origin: string, errors: readonly Error[], hasAnswered = false): readonly object[] => {
  const record = Object.assign(createOriginRecord(), { hasAnswered })
  return errors.map((error) => {
    const { reason, advice, verdict } = describeTransportError(error, false, { origin, record }) as never
    return { reason, advice, verdict }
  })
}

describe('a port that does not speak HTTP/1.1', () => {
  const http2 = { advice: 'http2', verdict: 'retry' }
  const ended = { reason: 'no-http', verdict: 'give-up' }

  it('of HTTP/2 alone is named, and ended at the third equal failure', () => {
    expect(describeInTurn(HTTPS, [closed, closed, closed])).toEqual([
      { ...http2, reason: 'reset' },
      { ...http2, reason: 'reset' },
      { ...ended, advice: 'http2' },
    ])
    const frame = unreadable(HTTP2_SETTINGS)
    expect(describeInTurn(HTTP, [frame, frame, frame])).toEqual([
      { ...http2, reason: 'protocol' },
      { ...http2, reason: 'protocol' },
      { ...ended, advice: 'http2' },
    ])
  })

  it('of TLS is named by its alert', () => {
    expect(describeInTurn(HTTP, [unreadable('\x15\x03\x01\0\x02')])).toMatchObject([{ advice: 'needs-tls' }])
  })

  it('of anything else is ended, too', () => {
    const hello = unreadable('220 mail.test ESMTP')
    expect(describeInTurn(HTTP, [hello, hello, hello])[2]).toEqual({ ...ended, advice: undefined })
  })

  it('is not concluded from failures that differ, or of a host that has answered', () => {
    const frame = unreadable(HTTP2_SETTINGS)
    const mixed = [frame, closed, frame, closed, frame]
    for (const { reason } of describeInTurn(HTTP, mixed) as { readonly reason: string }[])
      expect(reason).not.toBe('no-http')
    for (const one of describeInTurn(HTTPS, [closed, closed, closed], true))
      expect(one).toEqual({ reason: 'reset', verdict: 'retry', advice: undefined })
  })
})

describe('the advice of a failed connection', () => {
  it('mentions TLS only for plain http to a host that has never answered', () => {
    expect(describeInTurn(HTTP, [closed])).toMatchObject([{ reason: 'reset', advice: 'may-need-tls' }])
    expect(describeInTurn(HTTP, [closed], true)).toMatchObject([{ reason: 'reset', advice: undefined }])
  })

  it('is the message where that says all', () => {
    expect(describeInTurn(HTTPS, [failing('ERR_SSL_WRONG_VERSION_NUMBER')])).toMatchObject([
      { reason: 'tls', advice: 'said' },
    ])
  })

  it('names the issuer whose certificate is missing', () => {
    const error = nameIssuer(failing('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), 'Box Intermediate')
    expect(error.message).toContain('the certificate of "Box Intermediate"')
    expect(describeInTurn(HTTPS, [error])).toMatchObject([{ reason: 'tls', advice: 'issuer' }])
    const other = failing('CERT_HAS_EXPIRED')
    expect(nameIssuer(other, 'Box Intermediate')).toBe(other)
  })
})

describe('the answer of a proxy itself', () => {
  const proxy = { url: 'http://p.test', shown: 'http://p.test', variable: 'HTTP_PROXY' }
  const page = { 'content-type': 'text/html;charset=utf-8' }

  it.each([
    [403, { ...page, 'x-squid-error': 'ERR_ACCESS_DENIED 0' }, 'proxy'],
    [503, { ...page, 'x-squid-error': 'ERR_CONNECT_FAIL 111' }, 'connect'],
    [502, { 'proxy-status': 'p.test; error=connection_refused' }, 'connect'],
    [403, { ...page, server: 'tinyproxy/1.11.1' }, 'proxy'],
    [403, { ...page, via: '1.1 p.test (squid/5.7)' }, 'proxy'],
  ])('with %i and %o is a failure of it', (status, headers, reason) => {
    expect(toProxyReplyError(status, headers, { proxy })).toMatchObject({ reason })
    expect(toProxyReplyError(status, headers, {})).toBeUndefined()
  })

  it.each([
    [403, { ...page, server: 'nginx', via: '1.1 p.test (squid/5.7)' }],
    [403, { server: 'nginx' }],
    [404, { ...page, server: 'nginx' }],
    [404, { 'proxy-status': 'p.test; received-status=404', ...page }],
    [200, { ...page, server: 'squid/5.7' }],
  ])('is not assumed for %i and %o', (status, headers) => {
    expect(toProxyReplyError(status, headers, { proxy })).toBeUndefined()
  })

  it('that opens no tunnel to a port other than 443 names the port', () => {
    const refusal = new Error('Proxy response (403) !== 200 when HTTP Tunneling')
    expect(toProxyError(refusal, proxy, 'https://a.test:8443')?.message).toContain('or its port 8443')
    expect(toProxyError(refusal, proxy, 'https://a.test')?.message).toContain('refuses this host (403)')
  })
})
