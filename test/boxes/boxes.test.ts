import { describe, expect, it } from 'vitest'
import { type Box, certificate, explainMissing, fetchThrough, nginx, runThrough } from './support.js'

const noNginx = explainMissing('nginx')
const noHaproxy = explainMissing('haproxy')
const noOpenssl = explainMissing('nginx', 'openssl')

const limit = (rate: number, how: string): Box =>
  nginx(
    `location / { limit_req zone=requests${how}; PASS }`,
    `limit_req_zone $binary_remote_addr zone=requests:1m rate=${rate}r/s;`,
  )

const connections: Box = nginx(
  'location / { limit_conn connections 8; PASS }',
  'limit_conn_zone $binary_remote_addr zone=connections:1m;',
)

const CACHE = nginx(
  'location / { proxy_cache answers; proxy_cache_methods GET HEAD POST; proxy_cache_valid 200 1h; PASS }',
  'proxy_cache_path cache keys_zone=answers:1m;',
)

describe.skipIf(noNginx !== '')(`behind nginx${noNginx}`, () => {
  it.each<[what: string, box: Box, most: number]>([
    ['that compresses', nginx('gzip on; gzip_types *; gzip_proxied any; location / { PASS }'), 1],
    ['that closes each connection after 5 requests', nginx('keepalive_requests 5; location / { PASS }'), 1.1],
    [
      'that closes one connection in ten without an answer',
      nginx(
        'location / { if ($part) { return 444; } PASS }',
        'split_clients $request_id $part { 10% 1; * ""; }',
      ),
      1.4,
    ],
    ['that limits the rate with 503', limit(60, ''), 1.6],
    ['that limits the rate with 503, with a burst', limit(60, ' burst=20 nodelay'), 1.6],
    ['that limits the rate with 429', limit(60, ' burst=20 nodelay; limit_req_status 429'), 1.6],
    ['that limits connections with 503', connections, 1.6],
  ])('%s, a run is complete, its files are the same, and so are most requests', async (_, box, most) => {
    const { code, files, expected, share } = await runThrough(box)
    expect(code).toBe(0)
    expect(files).toEqual(expected)
    expect(share).toBeLessThanOrEqual(most)
  })

  it.each<[what: string, box: Box]>([
    ['the rate with 503', limit(60, '')],
    ['the rate with 429, with a burst', limit(60, ' burst=20 nodelay; limit_req_status 429')],
    ['connections with 503', connections],
  ])('that limits %s, an app with fetch and a limiter gets each answer once', async (_, box) => {
    const { ends, arrived, share } = await fetchThrough(box, 300, 30)
    expect(ends).toEqual(['answered'])
    expect(arrived).toBe(300)
    expect(share).toBeLessThanOrEqual(1.6)
  })

  it('that caches answers without regard to what is asked for, no stored file is replaced', async () => {
    const args = ['--fresh', '--only', 'market-news,advanced-indicators,new-announcements,company-filings']
    const { code, files, expected, hints } = await runThrough(CACHE, { stocks: 60, again: true, args })
    expect(code).toBe(3)
    // Empty announcements say nothing: those that came before the cache was found replace stored ones.
    const isCompared = ([file]: readonly [string, unknown]): boolean => !file.includes('announcements')
    expect(Object.entries(files).filter(isCompared)).toEqual(Object.entries(expected).filter(isCompared))
    expect(hints).toContain('A cache or proxy between this machine and')
  })

  it('that has old copies, no stored file is replaced', async () => {
    const old = nginx('location / { PASS add_header Age 200000; add_header Via "1.1 box"; }')
    const { code, files, expected, hints } = await runThrough(old, { again: true, args: ['--fresh'] })
    expect(code).toBe(1)
    expect(files).toEqual(expected)
    expect(hints).toContain('answers with old copies')
  })

  it.each([
    ['that speaks HTTP/2 only', nginx('location / { PASS }', '', 'http2'), 'must speak HTTP/1.1'],
    ['that is not responsible for the host', nginx('return 421;'), 'answered 421'],
    ['that blocks the country', nginx('return 451;'), 'answered 451'],
  ])('%s, a run ends at once and says so', async (_, box, says) => {
    const { code, hints, share } = await runThrough(box)
    expect(code).toBe(1)
    expect(hints).toContain(says)
    expect(share).toBeLessThan(0.1)
  })
})

describe.skipIf(noOpenssl !== '')(`behind nginx with TLS${noOpenssl}`, () => {
  it('on a port that is used with http, a run ends at once and says so', async () => {
    const tls = nginx(`${certificate()} location / { PASS }`, '', 'ssl')
    const { code, hints } = await runThrough(tls)
    expect(code).toBe(1)
    expect(hints).toContain('must start with https')
  })
})

describe.skipIf(noHaproxy !== '')(`behind haproxy${noHaproxy}`, () => {
  it('that resets connections above eight, a run is complete and its files are the same', async () => {
    const reset: Box = {
      program: 'haproxy',
      settings: ({ port, provider }) => `
backend addresses
  stick-table type ip size 1k expire 30s store conn_cur
frontend box
  bind 127.0.0.1:${port}
  tcp-request connection track-sc0 src table addresses
  tcp-request connection reject if { sc_conn_cur(0) gt 8 }
  default_backend provider
backend provider
  server one ${provider}
`,
    }
    const { code, files, expected, share } = await runThrough(reset)
    expect(code).toBe(0)
    expect(files).toEqual(expected)
    expect(share).toBeLessThanOrEqual(1.6)
  })
})
