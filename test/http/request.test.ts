import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { HeaderSet } from '../../src/http/endpoint.js'
import { createRequestBuilder } from '../../src/http/request.js'
import { UsageError } from '../../src/model/errors.js'
import { note, page, settingsOf } from './support.js'

const INPUT = { data: { isin: 'INE000000001' } }
const VALUES = { key: 'stocks/market/upper', day: '12022026', tab: '7' }

const urlOf = (base: string, input = VALUES): string =>
  createRequestBuilder(page, settingsOf({ urls: { web: base } }), 1)(input).url

describe('a request', () => {
  it('is a POST with the input as its JSON body', () => {
    const request = createRequestBuilder(
      note,
      settingsOf({ urls: { static: 'https://static.example' } }),
      1_234,
    )(INPUT)
    expect(request).toMatchObject({
      method: 'POST',
      url: 'https://static.example/notes/all',
      body: JSON.stringify(INPUT),
      timeoutMs: 1_234,
    })
    expect(request.headers['content-type']).toBe('application/json')
  })

  it('is a GET with the whole input in its URL', () => {
    const request = createRequestBuilder(
      page,
      settingsOf({ urls: { web: 'https://web.example' } }),
      1,
    )(VALUES)
    expect(request).toMatchObject({
      method: 'GET',
      url: 'https://web.example/pages/stocks/market/upper/12022026.csv?tab=7&x=1',
    })
    expect(request).not.toHaveProperty('body')
    expect(request.headers).not.toHaveProperty('content-type')
  })

  it.each([
    ['https://web.example/', 'https://web.example/pages/k/d.csv?tab=t&x=1'],
    ['https://web.example/a/b', 'https://web.example/a/b/pages/k/d.csv?tab=t&x=1'],
    ['https://web.example/a/b///', 'https://web.example/a/b/pages/k/d.csv?tab=t&x=1'],
    ['http://127.0.0.1:8080/web', 'http://127.0.0.1:8080/web/pages/k/d.csv?tab=t&x=1'],
  ])('keeps the path of the base address %s', (base, url) => {
    expect(urlOf(base, { key: 'k', day: 'd', tab: 't' })).toBe(url)
  })

  it('percent-encodes what a path cannot have, except for slashes', () => {
    expect(urlOf('https://w', { key: 'a b/c?d#e&f=g%h', day: 'ä', tab: '1&gid=2' })).toBe(
      'https://w/pages/a%20b/c%3Fd%23e&f=g%25h/%C3%A4.csv?tab=1%26gid%3D2&x=1',
    )
  })

  it('carries any value so that it decodes to the same value', () => {
    const text = fc
      .string({ unit: 'grapheme', minLength: 1 })
      .filter((value) => !value.includes('/') && value !== '.' && value !== '..')
    fc.assert(
      fc.property(text, text, (day, tab) => {
        const url = new URL(urlOf('https://w', { key: 'k', day, tab }))
        expect(decodeURIComponent(url.pathname)).toBe(`/pages/k/${day}.csv`)
        expect([...url.searchParams]).toEqual([
          ['tab', tab],
          ['x', '1'],
        ])
      }),
    )
  })

  it('fails for a service without a base address', () => {
    expect(() => createRequestBuilder(note, settingsOf(), 1)(INPUT)).toThrow(UsageError)
    expect(() => createRequestBuilder(note, settingsOf(), 1)(INPUT)).toThrow(/urls\.static/)
  })
})

describe('the headers of a request', () => {
  it('include those of its host, which go to no other host', () => {
    const given = settingsOf({
      urls: { static: 'https://s.example', web: 'https://w.example' },
      headers: { 'X-All': '1', authorization: 'for all' },
      hosts: {
        static: { headers: { Authorization: 'for static' } },
        web: { headers: { cookie: 'for web' } },
      },
    })
    const toStatic = createRequestBuilder(note, given, 1)(INPUT).headers
    const toWeb = createRequestBuilder({ ...note, host: 'web' }, given, 1)(INPUT).headers
    expect(toStatic).toMatchObject({ 'x-all': '1', authorization: 'for static' })
    expect(toStatic).not.toHaveProperty('cookie')
    expect(toWeb).toMatchObject({ 'x-all': '1', authorization: 'for all', cookie: 'for web' })
  })

  const headersOf = (headers: HeaderSet, given: Parameters<typeof settingsOf>[0] = {}) =>
    createRequestBuilder(
      { ...note, headers },
      settingsOf({ urls: { static: 'https://s', web: 'https://web.example/site' }, ...given }),
      1,
    )(INPUT).headers

  it('are those of the header set: usual, origin, bare or browser', () => {
    const own = { 'content-type': 'application/json', 'accept-encoding': 'gzip' }
    expect(headersOf('bare')).toEqual(own)
    expect(headersOf('usual')).toMatchObject({
      ...own,
      accept: expect.stringContaining('json'),
      'user-agent': expect.stringMatching(/^Mozilla\/5\.0/),
    })
    expect(headersOf('usual')).not.toHaveProperty('origin')
    expect(headersOf('origin')).toEqual({ ...headersOf('usual'), origin: 'https://web.example' })
    expect(headersOf('browser')['user-agent']).toMatch(/^Mozilla\/5\.0/)
    expect(headersOf('browser')).not.toHaveProperty('origin')
  })

  it('use the analytics service as Origin if there is no web site', () => {
    expect(
      headersOf('origin', { urls: { static: 'https://s', analytics: 'https://a.example/x' } }).origin,
    ).toBe('https://a.example')
  })

  it.each(['bare', 'usual', 'origin', 'browser'] as const)(
    'are overridden by the configured ones: %s',
    (set) => {
      const headers = { 'user-agent': 'mine', origin: 'https://me', 'x-own': '1' }
      expect(headersOf(set, { headers })).toMatchObject(headers)
    },
  )

  it('are overridden regardless of the case of the configured names', () => {
    const headers = headersOf('origin', { headers: { 'User-Agent': 'mine', Origin: 'https://me' } })
    const named = (name: string): readonly string[] =>
      Object.entries(headers).flatMap(([key, value]) => (key.toLowerCase() === name ? [value] : []))
    expect(named('user-agent')).toEqual(['mine'])
    expect(named('origin')).toEqual(['https://me'])
  })
})
