import { describe, expect, it } from 'vitest'
import { Fault, faultModes } from '../../src/simulator/conditions.js'
import { requestNote, sendRequest, serve } from './support.js'

const table = { headers: { 'user-agent': 'Mozilla/5.0' } }
const serveNote = (fault: Omit<Fault, 'on'>) => serve({ faults: [{ on: 'note', ...fault }] })

/** What a client sees in each mode. */
const expectFault: Record<Fault['mode'], (fault: Omit<Fault, 'on'>) => Promise<void>> = {
  status: async (fault) => {
    expect(await requestNote(await serveNote(fault))).toMatchObject({ status: 500, retryAfter: undefined })
    expect(await requestNote(await serveNote({ ...fault, status: 429, retryAfter: 3 }))).toMatchObject({
      status: 429,
      retryAfter: '3',
    })
    const date = 'Thu, 12 Feb 2026 14:30:00 GMT'
    expect(await requestNote(await serveNote({ ...fault, status: 503, retryAfter: date }))).toMatchObject({
      status: 503,
      retryAfter: date,
    })
  },
  reset: async (fault) => {
    const simulator = await serveNote(fault)
    await expect(requestNote(simulator)).rejects.toMatchObject({
      code: expect.stringMatching(/ECONNRESET|UND_ERR_SOCKET/),
    })
    expect(simulator.stats().endpoints.note?.statuses).toEqual({ reset: 1 })
  },
  truncate: async (fault) => {
    const simulator = await serveNote(fault)
    await expect(requestNote(simulator)).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' })
    expect(simulator.stats().endpoints.note?.statuses).toEqual({ truncated: 1 })
  },
  html: async (fault) => {
    expect(await requestNote(await serveNote(fault))).toMatchObject({
      status: 200,
      type: 'text/html',
      text: expect.stringMatching(/^<!DOCTYPE/),
    })
  },
  empty: async (fault) => {
    const simulator = await serve({ faults: [{ ...fault, on: '*' }] })
    expect(await requestNote(simulator)).toMatchObject({ status: 200, text: '{"data":[]}' })
    expect(
      await sendRequest(`${simulator.settings.urls.archive}/content/list_12022026.csv`, table),
    ).toMatchObject({ text: 'A,B\n' })
  },
  garbage: async (fault) => {
    const { status, type, text } = await requestNote(await serveNote(fault))
    expect({ status, type }).toEqual({ status: 200, type: 'application/json' })
    expect(() => JSON.parse(text)).toThrow()
  },
  null: async (fault) => {
    expect(await requestNote(await serveNote(fault))).toMatchObject({ status: 200, text: 'null' })
  },
  'no-body': async (fault) => {
    expect(await requestNote(await serveNote(fault))).toMatchObject({ status: 200, length: '0', text: '' })
  },
  hang: async (fault) => {
    const simulator = await serveNote(fault)
    const failed = expect(requestNote(simulator)).rejects.toThrow()
    await expect.poll(() => simulator.stats().endpoints.note?.inFlight).toBe(1)
    await simulator.close()
    await failed
  },
  drip: async (fault) => {
    const simulator = await serveNote({ ...fault, ms: 1 })
    const { text, length } = await requestNote(simulator)
    expect(JSON.parse(text)).toMatchObject({ day: '2026-02-12' })
    expect(Number(length)).toBe(text.length)
    expect(simulator.stats().endpoints.note).toMatchObject({ inFlight: 0, statuses: { 200: 1 } })
  },
  slow: async (fault) => {
    const from = performance.now()
    expect(await requestNote(await serveNote({ ...fault, ms: 20 }))).toMatchObject({ status: 200 })
    expect(performance.now() - from).toBeGreaterThan(18)
  },
}

describe('a fault', () => {
  it.each(faultModes)('of mode %s reaches the client', (mode) => expectFault[mode]({ mode }))

  it('hits the endpoint that it names and no other', async () => {
    const simulator = await serveNote({ mode: 'null' })
    expect((await sendRequest(`${simulator.settings.urls.web}/start/`)).text).toBe('start')
  })

  it('hits each item `times` times', async () => {
    const simulator = await serveNote({ mode: 'status', status: 429, times: 2 })
    const statuses = async (rank: number) => {
      const answers = [
        await requestNote(simulator, rank),
        await requestNote(simulator, rank),
        await requestNote(simulator, rank),
      ]
      return answers.map(({ status }) => status)
    }
    expect(await statuses(0)).toEqual([429, 429, 200])
    expect(await statuses(1)).toEqual([429, 429, 200])
    simulator.control({ reset: true })
    expect(await statuses(0)).toEqual([429, 429, 200])
  })

  it('is followed by the next fault after `times` hits', async () => {
    const simulator = await serve({
      faults: [
        { on: 'note', mode: 'status', status: 503, times: 1 },
        { on: '*', mode: 'null' },
      ],
    })
    expect((await requestNote(simulator)).status).toBe(503)
    expect((await requestNote(simulator)).text).toBe('null')
  })

  it('hits only requests that contain one of its texts as a whole value', async () => {
    const simulator = await serve()
    const { stocks, asOf } = simulator.market
    simulator.control({
      faults: [{ on: '*', mode: 'status', items: [stocks[3]?.ISIN ?? '', 'INE', 'somewhere'] }],
    })
    expect((await requestNote(simulator, 3)).status).toBe(500)
    expect((await requestNote(simulator, 4)).status).toBe(200)
    expect((await sendRequest(`${simulator.settings.urls.web}/somewhere/`)).status).toBe(500)
    expect(simulator.market.asOf).toBe(asOf)
  })

  it('with a rate hits the same items each time, in about that share', async () => {
    const hit = async (seed: number) => {
      const simulator = await serve({
        stocks: 200,
        seed,
        faults: [{ on: 'note', mode: 'status', rate: 0.2 }],
      })
      const answers = await Promise.all(
        simulator.market.stocks.map((_, rank) => requestNote(simulator, rank)),
      )
      return answers.flatMap(({ status }, rank) => (status === 500 ? [rank] : []))
    }
    const first = await hit(1)
    expect(first.length).toBeGreaterThan(20)
    expect(first.length).toBeLessThan(60)
    expect(await hit(1)).toEqual(first)
    expect(await hit(2)).not.toEqual(first)
  })

  it('is rejected with an unknown mode or field', () => {
    expect(Fault.safeParse({ on: 'note', mode: 'explode' }).success).toBe(false)
    expect(Fault.safeParse({ on: 'note', mode: 'null', often: 3 }).success).toBe(false)
  })
})
