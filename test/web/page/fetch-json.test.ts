import { afterEach, describe, expect, it, vi } from 'vitest'
import { fetchJson, PageError } from '../../../src/web/page/parts/fetch-json.js'

afterEach(() => vi.unstubAllGlobals())

const answering = (body: string | ReadableStream, status = 200) =>
  vi.stubGlobal('fetch', async () => new Response(body, { status }))
const failing = (error: Error) => new ReadableStream({ start: (body) => body.error(error) })

describe('an answer for the page', () => {
  it('is the JSON of the server', async () => {
    answering('{"a":1}')
    expect(await fetchJson('/api')).toEqual({ a: 1 })
  })

  it.each([
    ['{"error":"TCS is in no list"}', 404, 'TCS is in no list'],
    ['<html>', 502, 'the server answered 502'],
    ['{"a":', 200, 'the server answered 200'],
  ])('of %s with %i is an error with a sentence', async (body, status, message) => {
    answering(body, status)
    await expect(fetchJson('/api')).rejects.toEqual(new PageError(message, status))
  })

  it('that breaks off says that the server has ended, and one that the page aborted is no failure of the server', async () => {
    answering(failing(new TypeError('network error')))
    vi.stubGlobal('document', { documentElement: { dataset: { command: 'npx scripstream' } } })
    await expect(fetchJson('/api')).rejects.toThrow(
      'The server of this page has ended. Start "npx scripstream serve" again',
    )
    answering(failing(new DOMException('aborted', 'AbortError')))
    await expect(fetchJson('/api')).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }))
  })
})
