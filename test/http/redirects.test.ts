import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { describeResponse } from '../../src/http/answer.js'
import { createRedirect } from '../../src/http/exchange.js'
import type { HttpReply, HttpRequest } from '../../src/http/transport.js'
import { formatResponse } from '../../src/model/failed-exchange.js'
import { connect, getOf, serveHttp, settingsOf } from './support.js'

const settings = settingsOf({
  urls: { static: 'https://one.test/base', web: 'https://two.test', sheet: 'http://plain.test:8080' },
  headers: { Authorization: 'Bearer secret' },
  hosts: { static: { headers: { 'X-own': 'me' } } },
})
const headers = { accept: '*/*', authorization: 'Bearer secret', 'X-OWN': 'me' }

/** The sequence of requests when each address gives its listed reply. */
const visits = (
  request: Partial<HttpRequest>,
  answers: Readonly<Record<string, Omit<HttpReply, 'body'>>>,
) => {
  const redirect = createRedirect(settings)
  const sent: HttpRequest[] = []
  const visit = (asked: HttpRequest): HttpReply => {
    sent.push(asked)
    const reply = { body: Buffer.alloc(0), ...(answers[asked.url] ?? { status: 200 }) }
    const next = redirect(reply, asked, sent.length - 1)
    return next ? visit(next) : reply
  }
  const { status } = visit(getOf('https://one.test/base/a', { headers, ...request }))
  return { status, sent, urls: sent.map(({ url }) => url) }
}

const to = (location: string, status = 302) => ({ 'https://one.test/base/a': { status, location } })

describe('a redirect', () => {
  it.each([301, 302, 303, 307, 308])(
    'of a GET with %i is followed without the headers of the settings',
    async (status) => {
      const { status: end, sent } = visits({}, to('https://two.test/b?x=1', status))
      expect(end).toBe(200)
      expect(sent.map(({ url, method, headers }) => ({ url, method, headers }))).toEqual([
        { url: 'https://one.test/base/a', method: 'GET', headers },
        { url: 'https://two.test/b?x=1', method: 'GET', headers: { accept: '*/*' } },
      ])
    },
  )

  it('drops those headers also on a redirect to the same host', () => {
    const { sent } = visits({}, to('../c'))
    expect(sent[1]).toMatchObject({ url: 'https://one.test/c', headers: { accept: '*/*' } })
    expect(Object.keys(sent[1]?.headers ?? {})).toEqual(['accept'])
  })

  it.each([307, 308])('of a POST with %i is followed with its body', async (status) => {
    const { sent } = visits({ method: 'POST', body: '{}' }, to('/b', status))
    expect(sent[1]).toMatchObject({ url: 'https://one.test/b', method: 'POST', body: '{}' })
  })

  it.each([301, 302, 303])('of a POST with %i, which would become a GET, is not followed', async (status) => {
    expect(visits({ method: 'POST', body: '{}' }, to('/b', status))).toMatchObject({
      status,
      urls: ['https://one.test/base/a'],
    })
  })

  it.each([
    'https://elsewhere.test/b',
    'https://one.test:444/b',
    'https://one.test.elsewhere.test/b',
    'https://one.test@elsewhere.test/b',
    'https://user:word@one.test/b',
    '//elsewhere.test/b',
    'http://one.test/b',
    'http://plain.test:8080/b',
    'http://127.0.0.1/b',
    'http://2130706433/b',
    'file:///etc/passwd',
    'data:,x',
    'http://',
    '',
  ])('to %j is not followed', async (location) => {
    const { status, urls } = visits({}, to(location))
    // An empty location is the same address: two hops, then the limit.
    expect(status).toBe(302)
    expect(new Set(urls)).toEqual(new Set(['https://one.test/base/a']))
    if (location !== '') expect(urls).toHaveLength(1)
  })

  it('from http to https is followed', async () => {
    const { urls } = visits(
      { url: 'http://plain.test:8080/a' },
      { 'http://plain.test:8080/a': { status: 301, location: 'https://one.test/a' } },
    )
    expect(urls).toEqual(['http://plain.test:8080/a', 'https://one.test/a'])
  })

  it('is followed twice, not three times', async () => {
    const hops = Object.fromEntries(
      ['base/a', '1', '2', '3'].map((path, hop) => [
        `https://one.test/${path}`,
        { status: 302, location: `/${hop + 1}` },
      ]),
    )
    expect(visits({}, hops)).toMatchObject({
      status: 302,
      urls: ['https://one.test/base/a', 'https://one.test/1', 'https://one.test/2'],
    })
  })

  it.each([300, 304, 305, 306])('is not followed for the status %i', async (status) => {
    expect(visits({}, to('/b', status))).toMatchObject({ status, urls: ['https://one.test/base/a'] })
  })

  it('without a Location is returned as the answer', async () => {
    expect(visits({}, { 'https://one.test/base/a': { status: 302 } })).toMatchObject({
      status: 302,
      urls: ['https://one.test/base/a'],
    })
  })

  it('of the site for a data file is followed, too', async () => {
    const { url } = await serveHttp(({ url: path }, response) => {
      if (path === '/a') response.writeHead(307, { 'x-nextjs-redirect': '/b' }).end()
      else response.end('here')
    })
    const { send } = connect({ settings: settingsOf({ urls: { web: url } }) })
    expect((await firstValueFrom(send(getOf(`${url}/a`)))).body.toString()).toBe('here')
  })

  it('that is not followed is named in the message', () => {
    const reply = { status: 307, location: 'https://elsewhere.test/x', body: Buffer.alloc(0) }
    expect(formatResponse(describeResponse(reply, (text) => text))).toBe(
      'empty body, redirect to https://elsewhere.test/x',
    )
  })

  it('is followed over real connections', async () => {
    const seen: unknown[] = []
    const { url } = await serveHttp(({ url: path, headers: { 'x-own': own } }, response) => {
      seen.push([path, own])
      if (path === '/a') response.writeHead(302, { location: '/b' }).end('moved')
      else response.end('here')
    })
    const { send } = connect({ settings: settingsOf({ urls: { web: url }, headers: { 'x-own': 'me' } }) })
    expect(
      (await firstValueFrom(send(getOf(`${url}/a`, { headers: { 'x-own': 'me' } })))).body.toString(),
    ).toBe('here')
    expect(seen).toEqual([
      ['/a', 'me'],
      ['/b', undefined],
    ])
  })
})
