import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { DEFAULT_PORT, servePage } from '../../src/web/server/serve.js'
import { runReport, tinyRegistry } from '../cli/support.js'
import { temporaryFolder } from '../support/folders.js'
import { PAGE_FOLDER, serveFolder } from '../support/page-server.js'
import { followLive, parseEvents, send, started, startServer } from './support.js'

/** Reads events until there are so many, over a real connection. */
const readEvents = async (origin: string, count: number) => {
  const leaving = new AbortController()
  const response = await fetch(`${origin}/api/live`, { signal: leaving.signal })
  let sent = ''
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  while (parseEvents(sent).length < count) sent += (await reader?.read())?.value ?? ''
  leaving.abort()
  return { events: parseEvents(sent), type: response.headers.get('content-type') }
}

describe('the server of the page', () => {
  it('answers every path that is not of the API with the page', async () => {
    const { origin } = await startServer()
    for (const path of ['/', '/runs', '/stock/M%26M'])
      expect((await send(origin, path)).body).toContain('<script type="module" src="/page.js">')
  })

  it('sends the present state to a reader that joins late', async () => {
    const live = followLive(tinyRegistry)
    live.event(started(['market-news']))
    live.event({ type: 'stream-started', at: 1_500, stream: 'market-news' })
    live.event({ type: 'item-finished', stream: 'market-news', item: 'TCS', status: 'success' })
    const { origin } = await startServer(undefined, { live: () => live.state(2_000) })
    const { events, type } = await readEvents(origin, 1)
    expect(type).toBe('text/event-stream; charset=utf-8')
    expect(events).toMatchObject([
      { type: 'snapshot', data: { run: { run: 'r1', streams: [{ name: 'market-news', done: 1 }] } } },
    ])
  })

  it('sends null where no run is active', async () => {
    const { origin } = await startServer()
    expect((await readEvents(origin, 1)).events).toMatchObject([{ type: 'snapshot', data: { run: null } }])
  })

  it('ends open streams of events when it is closed, with how the folder stands', async () => {
    const out = temporaryFolder()
    const server = await serveFolder(out)
    const response = await fetch(`${server.origin}/api/live`)
    mkdirSync(join(out, '.scripstream'))
    writeFileSync(
      join(out, '.scripstream/report.json'),
      JSON.stringify(runReport({ run: 'r1', outcome: 'interrupted' })),
    )
    const closed = server.close()
    await expect(fetch(server.origin)).rejects.toThrow()
    const state = { isActive: false, answer: { word: 'Interrupted' }, last: { run: 'r1' } }
    expect(parseEvents(await response.text()).at(-1)).toMatchObject({
      type: 'snapshot',
      data: { run: null, state },
    })
    await closed
  })

  it('rejects a given port that is taken, and takes the next one if none is given', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void other.close())
    const { port } = other.address() as AddressInfo
    await expect(serveFolder(temporaryFolder(), { port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
    const options = {
      out: temporaryFolder(),
      exchange: 'NSE',
      streams: [],
      version: '1.2.3',
      pageFolder: PAGE_FOLDER,
    }
    const [one, next] = [await servePage(options), await servePage(options)]
    onTestFinished(() => one.close())
    onTestFinished(() => next.close())
    expect(one.origin).not.toBe(next.origin)
    for (const { origin } of [one, next])
      expect(Number(new URL(origin).port)).toBeGreaterThanOrEqual(DEFAULT_PORT)
  })

  it('tells the page how the command is typed where it was started', async () => {
    const { origin, close } = await serveFolder(temporaryFolder(), { command: 'node "a b/scripstream.cjs"' })
    onTestFinished(close)
    expect(await (await fetch(origin)).text()).toContain(
      '<html data-command="node &quot;a b/scripstream.cjs&quot;"',
    )
  })

  it('says what is wrong where the page is not built', async () => {
    await expect(serveFolder(temporaryFolder(), { pageFolder: '/nowhere' })).rejects.toThrow(
      'the files of the page are missing in /nowhere',
    )
  })

  it('names the folder where a command needs it, quoted for a shell, and no path of this machine once all is well', async () => {
    const out = join(temporaryFolder(), "my friend's data")
    mkdirSync(join(out, '.scripstream'), { recursive: true })
    writeFileSync(join(out, '.scripstream', 'report.json'), '{"run":')
    const { origin } = await startServer(out)
    expect(JSON.parse((await send(origin, '/api/state')).body)).toMatchObject({
      isActive: false,
      answer: { word: 'A record of the runs is damaged' },
      folder: `'${out.replace("'", `'\\''`)}'`,
    })
    const now = new Date(Date.now() + 86_400_000).toISOString()
    writeFileSync(join(out, '.scripstream', 'report.json'), JSON.stringify(runReport({ asOf: now })))
    const { body, status } = await send(origin, '/api/state')
    expect(status).toBe(200)
    expect(body).not.toContain(join(out, '..'))
  })
})
