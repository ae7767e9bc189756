import { describe, expect, it } from 'vitest'
import { send, startServer } from './support.js'

const HEADERS = {
  'content-security-policy': expect.stringMatching(
    /^default-src 'none'; script-src 'self'; style-src 'self'; .*frame-ancestors 'none'$/,
  ),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
}

describe('the server of the page', () => {
  it('answers only requests to a name of this machine', async () => {
    const { origin } = await startServer()
    const { port } = new URL(origin)
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`])
      expect((await send(origin, '/api/state', { headers: { host } })).status).toBe(200)
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1',
      `127.0.0.1:${port}.evil.example`,
      'localhost:1',
    ]) {
      const { status, body } = await send(origin, '/', { headers: { host } })
      expect([host, status]).toEqual([host, 421])
      expect(JSON.parse(body)).toEqual({ error: `this page is served as ${origin} only; open that address` })
    }
  })

  it('refuses scripts of other sites', async () => {
    const { origin } = await startServer()
    expect((await send(origin, '/api/state', { headers: { origin } })).status).toBe(200)
    for (const other of ['http://evil.example', 'null', `${origin}0`, origin.replace('http:', 'https:')])
      expect((await send(origin, '/api/state', { headers: { origin: other } })).status).toBe(403)
  })

  it('refuses images and frames of other sites in its API, also of another port of this machine', async () => {
    const { origin } = await startServer()
    const ask = async (path: string, site?: string) =>
      (await send(origin, path, { headers: site === undefined ? {} : { 'sec-fetch-site': site } })).status
    for (const site of ['cross-site', 'same-site', 'unknown'])
      expect(
        await Promise.all([ask('/api/runs/r1/checks', site), ask('/api/state?x', site), ask('/api', site)]),
        site,
      ).toEqual([403, 403, 403])
    for (const site of ['same-origin', 'none', undefined]) expect(await ask('/api/state', site)).toBe(200)
    // A link of another site may open the page.
    expect(await ask('/', 'cross-site')).toBe(200)
  })

  it('accepts a POST from its own page only', async () => {
    const { origin } = await startServer()
    const body = '{"sql":"select 1"}'
    for (const headers of [{}, { origin: 'http://evil.example' }])
      expect((await send(origin, '/api/query', { method: 'POST', headers, body })).status).toBe(403)
    expect(
      (await send(origin, '/api/query', { method: 'POST', headers: { origin }, body: 'no JSON' })).status,
    ).toBe(400)
    expect(
      (
        await send(origin, '/api/query', {
          method: 'POST',
          headers: { origin },
          body: `"${'x'.repeat(100_000)}"`,
        })
      ).status,
    ).toBe(413)
    expect((await send(origin, '/', { method: 'POST', headers: { origin }, body })).status).toBe(405)
    expect((await send(origin, '/api/state', { method: 'POST', headers: { origin }, body })).status).toBe(405)
  })

  it.each(['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'])('refuses %s', async (method) => {
    const { origin } = await startServer()
    for (const path of ['/', '/api/state', '/api/query'])
      expect((await send(origin, path, { method, headers: { origin } })).status).toBe(405)
  })

  it.each([
    '/../../etc/passwd',
    '/..%2f..%2fetc%2fpasswd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/%252e%252e%252fetc',
    '/api/stock/..%2f..%2fetc',
    '/api/stock/..%5c..%5cetc',
    '/api/runs/%2e%2e',
    '/chunks/../page.js',
    '/./page.js',
    '/%00',
    'http://evil.example/',
  ])('refuses the path %s', async (path) => {
    const { origin } = await startServer()
    const { status, body } = await send(origin, path)
    expect(status).toBe(400)
    expect(body).toContain('the path of the request is not valid')
  })

  it.each(['/package.json', '/src/cli/main.ts', '/etc/passwd', '/.scripstream/report.json'])(
    'has no file %s',
    async (path) => {
      const { origin } = await startServer()
      expect((await send(origin, path)).body).toContain('<div id="page"></div>')
    },
  )

  it('sends the headers of safety with every answer, and never permits another site to read', async () => {
    const { origin } = await startServer()
    const other = { headers: { host: 'evil.example' } }
    const answers = await Promise.all([
      ...[
        '/',
        '/page.js',
        '/page.css',
        '/icon.svg',
        '/api/state',
        '/api/runs',
        '/api/nothing',
        '/api/runs/none',
        '/%2e%2e',
      ].map((path) => send(origin, path)),
      send(origin, '/', other),
      send(origin, '/api/state', { method: 'DELETE' }),
      send(origin, '/', { method: 'HEAD' }),
    ])
    expect(answers.map(({ status }) => status)).toEqual([
      200, 200, 200, 200, 200, 200, 404, 404, 400, 421, 405, 200,
    ])
    for (const { headers } of answers) {
      expect(headers).toMatchObject(HEADERS)
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    }
  })

  it('answers a known file with 304', async () => {
    const { origin } = await startServer()
    const { headers } = await send(origin, '/page.js')
    expect(headers['content-type']).toBe('text/javascript; charset=utf-8')
    expect(
      await send(origin, '/page.js', { headers: { 'if-none-match': String(headers.etag) } }),
    ).toMatchObject({ status: 304, body: '' })
  })
})
