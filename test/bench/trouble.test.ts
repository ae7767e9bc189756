import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { RunReport } from '../../src/model/report.js'
import { computeLosses, type TroubledRun } from './harness/troubled.js'
import { parseOptions } from './options.js'
import { openFront } from './provider/front.js'
import { createLine } from './provider/line.js'
import { createOutages } from './provider/outage.js'
import { formatOutages, formatWorstOutages, mergeTrouble, type OutageRow } from './report/trouble.js'

const connectError = async (port: number): Promise<string | undefined> => {
  const socket = connect({ port, host: '127.0.0.1' })
  try {
    await once(socket, 'connect')
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  } finally {
    socket.destroy()
  }
}

describe('an outage', () => {
  const prepare = async () => {
    const front = await openFront((socket) => void socket.on('error', () => socket.destroy()).resume())
    const outages = createOutages(front, undefined)
    onTestFinished(async () => {
      await outages.plan(null)
      front.close()
    })
    return { front, outages }
  }

  it('of kind killed breaks connections and refuses new ones, then ends on the same port', async () => {
    const { front, outages } = await prepare()
    const open = connect({ port: front.port, host: '127.0.0.1' }).on('error', () => undefined)
    await once(open, 'connect')
    const closed = new Promise((resolve) => open.on('close', resolve))
    await outages.plan({ kind: 'killed', ms: 60_000 })
    await closed
    expect(await connectError(front.port)).toBe('ECONNREFUSED')
    await outages.plan(null)
    expect(await connectError(front.port)).toBeUndefined()
  })

  it('starts with the configured answer', async () => {
    const { outages } = await prepare()
    await outages.plan({ kind: '503', ms: 60_000, after: { endpoint: 'news', answers: 2 } })
    for (const endpoint of ['news', 'lodr', 'lodr']) outages.countAnswer(endpoint)
    expect([outages.activeKind(), outages.span()]).toEqual([undefined, undefined])
    outages.countAnswer('news')
    expect(outages.activeKind()).toBe('503')
  })
})

describe('a slow line', () => {
  afterEach(() => void vi.useRealTimers())

  it('limits the bytes per second of all connections together, in turns', () => {
    vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] })
    const carried = [0, 0]
    const sockets = carried.map((_, place) => ({
      destroyed: false,
      write: (bytes: Buffer) => {
        carried[place] = (carried[place] ?? 0) + bytes.length
        return true
      },
    })) as unknown as readonly Socket[]
    const line = createLine()
    line.setSpeed({ bitsPerSecond: 800_000, jitterMs: 100 })
    for (const socket of sockets) line.send(socket, Buffer.alloc(300_000))
    vi.advanceTimersByTime(2_000)
    const [one = 0, other = 0] = carried
    expect(one + other).toBeGreaterThan(180_000)
    expect(one + other).toBeLessThanOrEqual(200_000)
    expect(Math.abs(one - other)).toBeLessThan(2_000)
    vi.advanceTimersByTime(10_000)
    expect(carried).toEqual([300_000, 300_000])
  })
})

const script = (items: Readonly<Record<string, number>>, degraded = 0) => ({ items, degraded })
const runOf = (
  code: number,
  scripts: Readonly<Record<string, unknown>>,
  digests: Readonly<Record<string, string>>,
): TroubledRun => ({
  code,
  wallMs: 1,
  stats: { endpoints: {}, violations: [], cpuMicros: 0 },
  digests: new Map(Object.entries(digests)),
  report: { scripts } as unknown as RunReport,
  peakRssBytes: 1,
})

describe('the losses of a run', () => {
  const calm = runOf(
    0,
    { news: script({ success: 8, empty: 2 }), lodr: script({ success: 5 }) },
    { a: '1', b: '2' },
  )

  it('are the items that succeeded only without the trouble, and the files that are missing or differ', () => {
    const run = runOf(
      3,
      { news: script({ success: 6, empty: 2, error: 2 }), lodr: script({ success: 5 }, 1) },
      { a: '9', c: '3' },
    )
    expect(computeLosses(run, calm)).toEqual({
      code: 3,
      lost: { news: 2 },
      degraded: 1,
      filesDifferent: 3,
      extraRequests: 0,
    })
  })

  it('are all items if a run printed no report', () => {
    expect(computeLosses({ ...runOf(1, {}, {}), report: undefined }, calm).lost).toEqual({
      news: 10,
      lodr: 5,
    })
  })
})

describe('the rows of outages', () => {
  const row: OutageRow = {
    stocks: 60,
    kind: 'killed',
    start: 'phase 2',
    seconds: 15,
    lost: 7,
    degraded: 1,
    filesDifferent: 6,
    code: 3,
    extraRequests: 1_234,
    beyondS: -2.25,
    next: { requests: 9, filesDifferent: 0, code: 0 },
  }

  it('are printed next to those of before, with the result of the next run', () => {
    expect(formatOutages([row], [{ ...row, lost: 2_661 }])).toContain(
      '| killed | phase 2 | 15 s | 2,661 | 7 | 1 | 6 | 3 | 1,234 | −2.3 s | 9 requests, 0 files different, exit 0 |',
    )
    expect(formatOutages([{ ...row, code: null }])).toContain('| hangs |')
  })

  it('are one row of the page for each kind, with the worst of its runs', () => {
    const longer = { ...row, start: 'start', seconds: 120, lost: 0, extraRequests: 2_000, beyondS: 1 }
    const page = formatWorstOutages([row, longer, { ...row, kind: 'dns', code: null }])
    expect(page).toContain('| killed | 2 | 15 – 120 s | 7 | 1 | 6 | 3 | 2,000 | 1.0 s |')
    expect(page).toContain('| dns | 1 | 15 – 15 s | 7 | 1 | 6 | hangs | 1,234 | −2.3 s |')
  })

  it('replace earlier rows of the same outage', () => {
    const other = { what: '2 Mbit/s; lost 3', ...row, wallS: 1 }
    const merged = mergeTrouble(
      { outages: [row], others: [other] },
      { outages: [{ ...row, lost: 0 }], others: [{ ...other, what: '2 Mbit/s' }] },
    )
    expect([merged.outages.map(({ lost }) => lost), merged.others.map(({ what }) => what)]).toEqual([
      [0],
      ['2 Mbit/s'],
    ])
  })
})

it('parses the command line of the trouble commands, and names what is wrong in it', () => {
  const { command, trouble } = parseOptions([
    'outages',
    '--stocks',
    '80',
    '--kinds',
    'killed,dns',
    '--seconds',
    '5',
    '--starts',
    'phase-2',
  ])
  expect([command, trouble]).toMatchObject([
    'outages',
    { stocks: 80, kinds: ['killed', 'dns'], seconds: [5], starts: ['phase 2'] },
  ])
  expect(parseOptions(['turns', '--against', '/old']).trouble).toMatchObject({
    stocks: undefined,
    latencyMs: 50,
  })
  expect(() => parseOptions(['outages', '--kinds', 'tired'])).toThrow(
    'tired is not one of killed, frozen, 503, dns',
  )
})
