import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { map, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { createCollector } from '../../src/collector.js'
import { loadSettings } from '../../src/config.js'
import { perStock } from '../../src/engine/define-stream.js'
import type { FinishedRequest } from '../../src/engine/event-bus.js'
import { createResult } from '../../src/model/outcome.js'
import { findAddress } from '../../src/model/settings.js'
import { serveSimulator } from '../../src/simulator/index.js'
import { temporaryFolder } from '../support/folders.js'
import { itWithMarbles } from '../support/marbles.js'
import { createCall, row, status, tiny, tinyCollector } from '../support/tiny.js'

const chain = { ...createCall('chain'), host: 'options' }
const chains = (facts = {}) =>
  tiny('chains', {
    endpoints: [chain],
    work: perStock((stock, { ask }) =>
      ask(chain, { of: stock.Symbol }).pipe(map((rows) => createResult(rows))),
    ),
    ...facts,
  })
const urls = { static: 'http://provider.test' }
const settings = { urls, hosts: { options: 'http://options.test/v1' }, throttleMs: 1_000 }

describe('a host of an app', () => {
  itWithMarbles('has an address and a limiter of its own, and is named in telemetry', (m) => {
    const ended: FinishedRequest[] = []
    const collector = tinyCollector(m, {
      streams: [chains({ workers: 1 }), tiny('news', { workers: 1 })],
      stocks: ['A', 'B'],
      settings,
      answers: (call) =>
        call === 'v1/chain A' && m.scheduler.now() < 500 ? of(status(429)) : m.cold('-(r|)', { r: row }),
      telemetry: () => ({ event: () => undefined, request: (one) => void ended.push(one) }),
    })
    m.expect(collector.run().pipe(map(({ outcome }) => outcome))).toBeObservable('1002ms (a|)', {
      a: 'complete',
    })
    m.flush()
    // The 429 of one host does not delay the other.
    expect(collector.answered).toEqual(
      expect.arrayContaining(['1 news A', '2 news B', '1001 v1/chain A', '1002 v1/chain B']),
    )
    expect(
      ended.filter(({ endpoint }) => endpoint.host === 'options').map(({ status: code }) => code),
    ).toEqual([429, 200, 200])
  })

  itWithMarbles(
    'must have an address; the error names the setting, the variable, the stream and the built-in host that may be meant',
    (m) => {
      const misspelt = { ...chain, host: 'statics' }
      const streams = [chains(), tiny('others', { endpoints: [misspelt] })]
      const messages: unknown[] = []
      tinyCollector(m, { streams })
        .run()
        .subscribe({ error: (error: Error) => messages.push(error.name, error.message) })
      m.flush()
      expect(messages).toEqual([
        'UsageError',
        expect.stringContaining('SCRIPSTREAM_OPTIONS_URL (hosts.options), needed by chains\n'),
      ])
      expect(messages[1]).toContain(
        'SCRIPSTREAM_STATICS_URL (hosts.statics, or did you mean the built-in host static?), needed by others\n',
      )
    },
  )

  it.each([
    [{ Options: 'http://x' }, 'must have names of lower-case letters'],
    [
      { options: { url: 'http://x', maxRates: 1 } },
      'hosts.options has no setting "maxRates" (did you mean maxRate?)',
    ],
    [{ news: { maxRate: 0 } }, 'hosts.news (maxRate) must be a number above 0, but is 0'],
    [{ news: { headers: { 'x y': 'secret' } } }, 'must have names that a header can have'],
    [{ options: 'x' }, 'must be an http(s) address'],
  ])('is refused if its name or address is wrong: %j', (hosts, why) => {
    expect(() => createCollector({ settings: { hosts } })).toThrow(why)
  })

  it('gets its address from its variable, and from the file', () => {
    const load = (env: Record<string, string>) => loadSettings({ env, streams: [chains()] })
    expect(
      load({ SCRIPSTREAM_OPTIONS_URL: 'https://o.test', SCRIPSTREAM_NEWS_URL: 'https://n.test' }),
    ).toMatchObject({
      urls: { news: 'https://n.test' },
      hosts: { options: { url: 'https://o.test', headers: {} } },
    })
    expect(() => load({ SCRIPSTREAM_OPTIONS_URL: 'o.test' })).toThrow(
      'SCRIPSTREAM_OPTIONS_URL must be an http(s) address',
    )
    expect(loadSettings({ env: { SCRIPSTREAM_OPTIONS_URL: 'https://o.test' }, streams: [] }).hosts).toEqual(
      {},
    )
  })

  it('takes the address of a variable and the headers of the file', () => {
    const folder = temporaryFolder()
    const configFile = join(folder, 'c.json')
    const headers = { cookie: 'mine' }
    const hosts = {
      options: { url: 'https://file.test', headers },
      news: { url: 'https://file.test', headers, maxRate: 5 },
      web: 'https://file.test',
    }
    writeFileSync(configFile, JSON.stringify({ hosts }))
    const env = { SCRIPSTREAM_OPTIONS_URL: 'https://o.test', SCRIPSTREAM_NEWS_URL: 'https://n.test' }
    const settings = loadSettings({ configFile, env, streams: [chains()] })
    expect(['options', 'news', 'web'].map((host) => findAddress(settings, host))).toEqual([
      'https://o.test',
      'https://n.test',
      'https://file.test',
    ])
    expect(settings.hosts).toMatchObject({ options: { headers }, news: { headers, maxRate: 5 } })
  })

  it('is simulated with its sample', async () => {
    const simulator = await serveSimulator({
      endpoints: [{ ...chain, sample: () => ({ data: [] }) }],
      stocks: 1,
    })
    try {
      expect(simulator.environment).toContain(`SCRIPSTREAM_OPTIONS_URL=${simulator.origin}/options`)
      const reply = await fetch(`${simulator.settings.hosts.options?.url}/chain`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'x' },
        body: '{"of":"A"}',
      })
      expect(await reply.json()).toEqual({ data: [] })
      expect(() => simulator.control({ limits: { options: { perSecond: 1, burst: 1 } } })).not.toThrow()
      expect(() => simulator.control({ limits: { option: { perSecond: 1, burst: 1 } } })).toThrow('option')
    } finally {
      await simulator.close()
    }
  })
})
