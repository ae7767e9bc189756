import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lastValueFrom, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { memory } from '../../sinks/memory.js'
import type { RunOptions } from '../../src/collector.js'
import type { SessionRequest } from '../../src/engine/storage.js'
import { UsageError } from '../../src/model/errors.js'
import type { AsOfSession } from '../../src/model/report.js'
import { toDayEnd, toInstant } from '../../src/model/trading-day.js'
import { streams } from '../../streams/registry.js'
import { collect, EVENING, fakeProvider, SETTINGS } from '../streams/support.js'
import { temporaryFolder } from '../support/folders.js'
import { createQuickCollector } from '../support/limits.js'

interface Given extends RunOptions {
  readonly now?: number
  readonly history?: boolean
  /** The text of the file of holidays. */
  readonly holidays?: string
}

const fileWith = (text: string): string => {
  const path = join(temporaryFolder(), 'holidays.txt')
  writeFileSync(path, text)
  return path
}

/** A run of three streams over an empty market: two follow `asOf`, one does not. */
const runAt = async ({ now = EVENING, history = true, holidays, ...options }: Given) => {
  const provider = fakeProvider(() => ({ data: [] }))
  const storage = memory()
  const requested: SessionRequest[] = []
  const collector = createQuickCollector({
    settings: { ...SETTINGS, history, ...(holidays === undefined ? {} : { holidays: fileWith(holidays) }) },
    storage: {
      ...storage,
      openSession: (request) => {
        requested.push(request)
        return storage.openSession(request)
      },
    },
    transport: provider.send,
    clock: () => now,
  })
  const only = ['bulk-block-deals', 'complete-price-bands', 'circuit-stocks']
  const events = await lastValueFrom(collector.events({ only, ...options }).pipe(toArray()))
  const [first, last] = [events[0], events.at(-1)]
  if (first?.type !== 'run-started' || last?.type !== 'run-finished')
    throw new Error('the run has no start or no end')
  return {
    note: first.asOfSession,
    reported: last.report.asOfSession,
    request: requested[0],
    requests: provider.requests,
  }
}

const errorOf = (given: Given) => runAt(given).catch((error: unknown) => error)

describe('an asOf later than the clock', () => {
  it.each([
    ['by a millisecond', EVENING + 1],
    ['by a day', toDayEnd('2026-02-13')],
    ['by a year', toInstant('2027-02-12', '20:00')],
  ])('%s is refused before the first request', async (_, asOf) => {
    const error = await errorOf({ asOf })
    expect(error).toBeInstanceOf(UsageError)
    expect(error).toMatchObject({
      issues: [{ path: 'asOf', message: expect.stringContaining('now it is 2026-02-12 20:00 IST') }],
    })
  })

  it('is refused for simulated data, too', async () => {
    expect(await errorOf({ asOf: EVENING + 1, variant: '4 simulated stocks' })).toBeInstanceOf(UsageError)
  })

  it('is allowed if it is the end of today, which stands for today', async () => {
    expect(await runAt({ asOf: toDayEnd('2026-02-12') })).toMatchObject({
      note: undefined,
      reported: undefined,
    })
  })
})

describe('a run as of an earlier session', () => {
  const usual: AsOfSession = {
    session: '2026-02-06',
    due: '2026-02-12',
    recorded: 'following',
    following: ['bulk-block-deals', 'complete-price-bands'],
    others: ['circuit-stocks'],
  }
  const asOf = toDayEnd('2026-02-06')

  it('says at its start and in its report which outputs are of that session', async () => {
    expect(await runAt({ asOf })).toMatchObject({ note: usual, reported: usual })
    // A Sunday belongs to the session before.
    expect((await runAt({ asOf: toInstant('2026-02-08', '12:00') })).note).toEqual(usual)
  })

  it('says what the history records', async () => {
    expect((await runAt({ asOf, recordLate: true })).note).toEqual({ ...usual, recorded: 'all' })
    expect((await runAt({ asOf, history: false })).note).toEqual({ ...usual, recorded: 'none' })
    expect((await runAt({ asOf, history: false, recordLate: true })).note).toEqual({
      ...usual,
      recorded: 'none',
    })
  })

  it.each<[string, Given]>([
    ['without an asOf', {}],
    ['without an asOf, with recordLate', { recordLate: true }],
    ['as of an hour ago', { asOf: EVENING - 3_600_000 }],
    [
      'as of the session before a weekend, on that weekend',
      { asOf: toDayEnd('2026-02-13'), now: toInstant('2026-02-15', '12:00') },
    ],
    [
      'as of yesterday, before the opening',
      { asOf: toDayEnd('2026-02-11'), now: toInstant('2026-02-12', '09:14') },
    ],
    [
      'as of the end of today, before the opening',
      { asOf: toDayEnd('2026-02-12'), now: toInstant('2026-02-12', '09:14') },
    ],
    [
      'as of the session before a holiday, on that holiday',
      { asOf: toDayEnd('2026-02-11'), holidays: '2026-02-12' },
    ],
    ['of simulated data, whose market has no other day', { asOf, variant: '4 simulated stocks' }],
    ['of streams that all follow asOf', { asOf, only: ['bulk-block-deals'] }],
  ])('is none %s', async (_, given) => expect((await runAt(given)).note).toBeUndefined())

  it('tells the storage what the history may record', async () => {
    const { request } = await runAt({ asOf, recordLate: true, holidays: '2026-02-03 # closed' })
    expect(request?.history).toMatchObject({
      isLateAllowed: true,
      isSimulated: false,
      calendar: { holidays: new Set(['2026-02-03']) },
    })
    const follows = new Map(
      request?.history?.tables.map(({ table, followsAsOf }) => [table.name, followsAsOf]),
    )
    expect(['circuits', 'deals', 'bands'].map((name) => follows.get(name))).toEqual([false, true, true])
    const usualRun = await runAt({ variant: '4 simulated stocks' })
    expect(usualRun.request?.history).toMatchObject({
      isLateAllowed: false,
      isSimulated: true,
      calendar: { holidays: new Set() },
    })
  })

  it('reads the holidays before it changes anything, and names a line that is no day', async () => {
    expect(await errorOf({ holidays: '2026-02-03\nMonday' })).toMatchObject({
      message: expect.stringContaining('.txt:2: invalid date "Monday"'),
    })
  })
})

describe('a stream follows asOf', () => {
  const index = { Sym: 'NIFTY', DispSym: 'Nifty', Sid: 13, Exch: 'IDX', Seg: 'I', Inst: 'IDX' }
  const requestsAt = async (stream: string, asOf: number): Promise<string> => {
    const { requests } = await collect({
      stream,
      asOf,
      answer: () => ({ data: [index] }),
      settings: { retries: 0 },
    })
    return JSON.stringify(requests.map(({ path, body }) => [path, body]))
  }

  // Its requests name the day, but the answers have what was announced until now.
  const excepted = ['corporate-actions']

  it.each(streams.filter(({ name }) => !excepted.includes(name)))(
    '$name, if its requests depend on it',
    async ({ name, followsAsOf = false }) => {
      const isOther = (await requestsAt(name, EVENING)) !== (await requestsAt(name, EVENING - 7 * 86_400_000))
      expect(followsAsOf).toBe(isOther)
    },
  )
})
