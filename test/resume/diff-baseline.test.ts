import { describe, expect, it } from 'vitest'
import type { Change } from '../../src/model/change.js'
import { readPreviousOutputs } from '../../src/storage/previous-outputs.js'
import { diff } from '../../src/tables/changes/diff.js'
import { streams } from '../../streams/registry.js'
import { EVENING } from '../streams/support.js'
import { temporaryFolder } from '../support/folders.js'
import { STOCKS, type Trying, tryRun } from './support.js'

const DAY = 86_400_000
const BEFORE = EVENING - DAY

const results = (SALES: string) => ({ data: [{ incomeStat_cq: { YEAR: '202512', SALES } }] })

/** The second day: DELTA has left the list, and BETA has other figures, a filing and a news item. */
const today: Omit<Trying, 'out'> = {
  now: EVENING,
  stocks: STOCKS.slice(0, 3),
  answers: (request) => {
    if (request === 'fundamental BETA') return results('196')
    if (request === 'company_filings BETA')
      return { data: [{ news_date: '2026-02-12', caption: 'order won', file_url: 'y' }] }
    return request === 'getLiveNews BETA'
      ? { data: { latest_news: [{ news_object: { title: 'order' }, publish_date: 2 }] } }
      : yesterday.answers?.(request)
  },
}

const yesterday: Omit<Trying, 'out'> = {
  now: BEFORE,
  answers: (request) => (request === 'fundamental BETA' ? results('1960') : undefined),
}

const ALL = ['listings left DELTA', 'results changed BETA', 'filings new BETA', 'news new BETA']

const gist = ({ section, change, symbol }: Change): string => `${section} ${change} ${symbol}`

const diffOf = async (out: string) => (await diff(out, { exchange: 'NSE', streams })).changes.map(gist)
const daysOf = async (out: string, until?: string) =>
  (await diff(out, { exchange: 'NSE', streams, since: '2026-02-11', until })).changes.map(gist)

/** Every kind of `diff` shows what changed from the first day to the second. */
const expectAll = async (out: string): Promise<void> => {
  expect(await diffOf(out)).toEqual(ALL)
  expect(await daysOf(out)).toEqual(ALL)
  expect(await daysOf(out, '2026-02-12')).toEqual(ALL)
}

const LOST = 'getLiveNews ALPHA'

type Step = Omit<Trying, 'out'>

const after: readonly (readonly [string, Step])[] = [
  ['some stocks', { symbols: ['ALPHA'] }],
  ['some streams', { only: ['market-news'] }],
  ['some streams that lost items', { only: ['market-news'], fails: (request) => request === LOST }],
  ['items that a retry requests', { only: ['market-news'], pairs: { 'market-news': ['ALPHA'] } }],
  ['everything again, without need', {}],
]

const before: readonly (readonly [string, Step])[] = [
  ['some stocks', { symbols: ['BETA'] }],
  ['some streams', { only: ['market-news', 'fundamental-data'] }],
  ['a stream that lost items', { only: ['market-news'], fails: (request) => request === LOST }],
  ['everything, with lost items', { fails: (request) => request === LOST }],
]

describe('what diff compares with', () => {
  it.each(after)('stays after a run of %s', async (_, options) => {
    const out = temporaryFolder()
    await tryRun({ out, ...yesterday })
    await tryRun({ out, ...today })
    await expectAll(out)
    await tryRun({ out, ...today, now: EVENING + 60_000, ...options })
    await expectAll(out)
  })

  it('stays after a run that fails because there is no master list', async () => {
    const out = temporaryFolder()
    await tryRun({ out, ...yesterday })
    await tryRun({ out, ...today })
    const { report } = await tryRun({
      out,
      now: EVENING + DAY,
      fails: (request) => request.startsWith('fetchdt'),
    })
    expect(report?.outcome).toBe('failed')
    await expectAll(out)
  })

  it('stays if items are lost and fetched later', async () => {
    const out = temporaryFolder()
    await tryRun({ out, ...yesterday })
    const partial = await tryRun({ out, ...today, fails: (request) => request === 'getLiveNews BETA' })
    expect(partial.report?.outcome).toBe('partial')
    expect(await diffOf(out)).toEqual(ALL.slice(0, 3))
    await tryRun({
      out,
      ...today,
      now: EVENING + 60_000,
      only: ['market-news'],
      pairs: { 'market-news': ['BETA'] },
    })
    await expectAll(out)
  })

  it.each(before)('is that of the day before if the day begins with a run of %s', async (_, options) => {
    const out = temporaryFolder()
    await tryRun({ out, ...yesterday })
    await tryRun({ out, ...today, ...options })
    await tryRun({ out, ...today, now: EVENING + 60_000, fresh: true })
    await expectAll(out)
  })

  it('is that of the day before if the day begins with runs of one stock after another', async () => {
    const out = temporaryFolder()
    await tryRun({ out, ...yesterday })
    for (const symbol of ['BETA', 'ALPHA', 'GAMMA']) await tryRun({ out, ...today, symbols: [symbol] })
    expect(await diffOf(out)).toEqual(ALL)
  })

  it('is that of the day before after a second complete run of an evening', async () => {
    const out = temporaryFolder()
    await tryRun({ out, ...yesterday })
    await tryRun({ out, ...today })
    await tryRun({ out, ...today, now: EVENING + 60_000, fresh: true })
    await expectAll(out)
  })

  it('is that of the day before after a run whose clock was ten years ahead', async () => {
    const out = temporaryFolder()
    await tryRun({ out, ...yesterday })
    await tryRun({ out, ...today, now: EVENING + 3653 * DAY, only: ['market-news'] })
    await tryRun({ out, ...today })
    expect(await diffOf(out)).toEqual(ALL)
    expect((await readPreviousOutputs(out))?.asOf?.slice(0, 4)).toBe('2026')
    // It is not that for ever.
    await tryRun({ out, ...today, now: EVENING + DAY })
    expect(await diffOf(out)).toEqual([])
  })

  it('is the run of the day before for a selection that is run every day', async () => {
    const out = temporaryFolder()
    for (const now of [BEFORE - DAY, BEFORE]) await tryRun({ out, ...yesterday, now, symbols: ['BETA'] })
    await tryRun({ out, ...today, symbols: ['BETA'] })
    expect(await diffOf(out)).toEqual(ALL)
    await tryRun({ out, ...today, now: EVENING + DAY, symbols: ['BETA'] })
    expect(await diffOf(out)).toEqual([])
  })
})
