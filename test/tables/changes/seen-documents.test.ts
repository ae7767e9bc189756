import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { toInstant } from '../../../src/model/trading-day.js'
import { diff } from '../../../src/tables/changes/diff.js'
import { streams } from '../../../streams/registry.js'
import { STOCKS, tryRun } from '../../resume/support.js'
import { temporaryFolder } from '../../support/folders.js'

const [ALPHA, BETA, GAMMA] = STOCKS as [object, object, object, object]
const RENAMED = { ...ALPHA, Sym: 'ALPHA2' }

const filing = (caption: string) => ({
  news_date: `2026-01-${caption.length.toString().padStart(2, '0')}`,
  caption,
  file_url: caption,
})

/**
 * The master list and the titles of the filings of each stock, by day. GAMMA is listed later, BETA drops its
 * oldest filing.
 */
const DAYS = {
  '2026-02-10': { stocks: [ALPHA, BETA], titles: { ALPHA: ['old'], BETA: ['first'] } },
  '2026-02-11': { stocks: [RENAMED, BETA], titles: { ALPHA: ['order', 'old'], BETA: ['first'] } },
  '2026-02-12': {
    stocks: [RENAMED, BETA, GAMMA],
    titles: { ALPHA: ['order', 'old'], BETA: ['second', 'first'], GAMMA: ['listed'] },
  },
  '2026-02-13': {
    stocks: [RENAMED, BETA, GAMMA],
    titles: { ALPHA: ['order', 'old'], BETA: ['fourth', 'third!'], GAMMA: ['listed'] },
  },
} as const

const collectDays = async (): Promise<string> => {
  const out = temporaryFolder()
  for (const [day, { stocks, titles }] of Object.entries(DAYS)) {
    const answers = (request: string): unknown => {
      const [call = '', symbol = ''] = request.split(' ')
      return /filings|lodr/.test(call)
        ? { data: ((titles as Record<string, readonly string[]>)[symbol] ?? []).map(filing) }
        : undefined
    }
    await tryRun({ out, now: toInstant(day, '20:00'), stocks, answers, only: ['company-filings'] })
  }
  return out
}

const filingsOf = async (out: string, since: string, until?: string) => {
  const { changes, notes } = await diff(out, {
    exchange: 'NSE',
    streams,
    since,
    until,
    only: ['filings'],
  })
  return { filings: changes.map(({ symbol, detail }) => `${symbol}: ${detail}`), notes }
}

describe('filings of recorded days', () => {
  it('are those that appeared between two days, with their titles', async () => {
    const out = await collectDays()
    expect(await filingsOf(out, '2026-02-11', '2026-02-12')).toEqual({
      filings: [],
      notes: ['filings and news that are no longer in their files: 1'],
    })
    expect((await filingsOf(out, '2026-02-12', '2026-02-13')).filings).toEqual([
      'BETA: 2 new: fourth; third!',
    ])
    expect((await filingsOf(out, '2026-02-11')).filings).toEqual(['BETA: 2 new: fourth; third!'])
  })

  it('of a renamed stock are new only if its earlier file lacks them; those of an added stock are not new', async () => {
    const out = await collectDays()
    expect(await filingsOf(out, '2026-02-10', '2026-02-11')).toEqual({
      filings: ['ALPHA2: 1 new: order'],
      notes: [],
    })
    expect((await filingsOf(out, '2026-02-10')).filings).toEqual([
      'ALPHA2: 1 new: order',
      'BETA: 2 new: fourth; third!',
    ])
  })

  it('name a damaged file, and compare the others', async () => {
    const out = await collectDays()
    writeFileSync(join(out, 'company_filings', 'BETA_filings.json'), '{"data":[')
    const { filings, notes } = await filingsOf(out, '2026-02-10')
    expect(filings).toEqual(['ALPHA2: 1 new: order'])
    expect(notes).toEqual([
      expect.stringContaining('company_filings/BETA_filings.json was not compared'),
      'only the two ends are compared: what came and went in between is not listed (3 recorded days)',
    ])
  })
})
