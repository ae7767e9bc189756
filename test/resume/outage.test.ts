import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readPreviousOutputs } from '../../src/storage/previous-outputs.js'
import { EVENING } from '../streams/support.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import { journalsIn, tryRun } from './support.js'

const DAY = 86_400_000
const isNewsOfTwo = (request: string): boolean => request === 'getLiveNews ALPHA' || request === 'getLiveNews BETA'
const stateOf = (out: string, name: string): string => join(out, '.scripstream', name)
const recordIn = (out: string): Record<string, unknown> => JSON.parse(readFileSync(stateOf(out, 'run.json'), 'utf8'))
const listIn = (out: string): unknown => JSON.parse(readFileSync(stateOf(out, 'failed.json'), 'utf8'))

const golden = async (): Promise<unknown> => {
  const out = temporaryFolder()
  await tryRun({ out })
  return hashOutputs(out)
}

describe('a run that ended with losses by an outage', () => {
  it('is resumed by the same command, which requests only the failed items, and then is complete', async () => {
    const out = temporaryFolder()
    const first = await tryRun({ out, isAway: isNewsOfTwo })
    expect(first.report).toMatchObject({ outcome: 'partial', isResumable: true, missing: { 'market-news': 2 } })
    expect(recordIn(out).endedAt).toBe(EVENING)
    expect(journalsIn(out)).not.toEqual([])
    const second = await tryRun({ out })
    expect([...second.requests].sort()).toEqual(['getLiveNews ALPHA', 'getLiveNews BETA'])
    expect(second.events[0]).toMatchObject({ isContinued: true })
    expect(second.report?.outcome).toBe('complete')
    expect(second.report).not.toHaveProperty('isResumable')
    expect(hashOutputs(out)).toEqual(await golden())
    expect([existsSync(stateOf(out, 'run.json')), journalsIn(out), listIn(out)]).toEqual([false, [], {}])
    expect((await tryRun({ out })).requests).toEqual([])
  })

  it('can be resumed as often as the outage comes back', async () => {
    const out = temporaryFolder()
    await tryRun({ out, isAway: (request) => /GAMMA|ALPHA/.test(request) })
    const second = await tryRun({ out, isAway: (request) => /ALPHA/.test(request) })
    expect(second.requests.filter((request) => /all|BETA|DELTA/.test(request))).toEqual([])
    expect(second.report).toMatchObject({ outcome: 'partial', isResumable: true })
    expect(new Set((await tryRun({ out })).requests.filter((request) => !request.endsWith('ALPHA')))).toEqual(new Set())
    expect(hashOutputs(out)).toEqual(await golden())
  })

  it('also requests degraded items again', async () => {
    const out = temporaryFolder()
    const first = await tryRun({ out, isAway: (request) => request === 'lodr GAMMA' })
    expect(first.report).toMatchObject({ isResumable: true, scripts: { 'company-filings': { degraded: 1 } } })
    expect([...(await tryRun({ out })).requests].sort()).toEqual(['company_filings GAMMA', 'lodr GAMMA'])
    expect(hashOutputs(out)).toEqual(await golden())
  })

  it('is not resumable if its losses are permanent', async () => {
    const out = temporaryFolder()
    const { report } = await tryRun({ out, fails: isNewsOfTwo })
    expect(report?.outcome).toBe('partial')
    expect(report).not.toHaveProperty('isResumable')
    expect(existsSync(stateOf(out, 'run.json'))).toBe(false)
  })

  it('is not resumed on the next day, whose run compares its changes with what this run left', async () => {
    const out = temporaryFolder()
    const { events } = await tryRun({ out, isAway: isNewsOfTwo, now: EVENING })
    const next = await tryRun({ out, now: EVENING + DAY })
    expect(next.requests[0]).toBe('fetchdt all')
    expect(next.events[0]).not.toHaveProperty('givenUp')
    expect((await readPreviousOutputs(out))?.run).toBe((events[0] as { run: string }).run)
  })

  it('differs from an interrupted run, which does not become the baseline for changes', async () => {
    const out = temporaryFolder()
    const first = await tryRun({ out, now: EVENING })
    await tryRun({ out, now: EVENING + DAY, hangs: (request) => /DELTA/.test(request) })
    expect(recordIn(out)).not.toHaveProperty('endedAt')
    await tryRun({ out, now: EVENING + 2 * DAY })
    expect((await readPreviousOutputs(out))?.run).toBe((first.events[0] as { run: string }).run)
  })

  it('leaves the sizes of its files for verify to compare', async () => {
    const out = temporaryFolder()
    await tryRun({ out, isAway: isNewsOfTwo })
    expect(JSON.parse(readFileSync(stateOf(out, 'output-sizes.json'), 'utf8'))).toMatchObject({
      'market_news/DELTA_news.json': expect.any(Number),
    })
  })
})

describe('an unavailable master list', () => {
  const isMaster = (request: string): boolean => request === 'fetchdt all'

  it('leaves an unfinished run of another configuration resumable', async () => {
    const out = temporaryFolder()
    await tryRun({ out, isAway: isNewsOfTwo })
    const { report } = await tryRun({ out, isAway: isMaster, only: ['fundamental-data'] })
    expect(report?.outcome).toBe('failed')
    expect([...(await tryRun({ out })).requests].sort()).toEqual(['getLiveNews ALPHA', 'getLiveNews BETA'])
  })

  it('leaves nothing to resume if nothing was stored', async () => {
    const out = temporaryFolder()
    await tryRun({ out, isAway: isMaster })
    expect([existsSync(stateOf(out, 'run.json')), journalsIn(out)]).toEqual([false, []])
    expect((await tryRun({ out })).report?.outcome).toBe('complete')
  })

  it('is requested again if its file was changed, and its failure leaves the run resumable', async () => {
    const out = temporaryFolder()
    await tryRun({ out, isAway: isNewsOfTwo })
    writeFileSync(join(out, 'master_isin_map.json'), '[]')
    expect((await tryRun({ out, isAway: isMaster })).report?.outcome).toBe('failed')
    expect([...(await tryRun({ out })).requests].sort()).toEqual(['fetchdt all', 'getLiveNews ALPHA', 'getLiveNews BETA'])
    expect(hashOutputs(out)).toEqual(await golden())
  })
})
