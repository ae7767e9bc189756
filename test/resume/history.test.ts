import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listDays, readRecordedDay } from '../../src/storage/history/history-folder.js'
import { EVENING } from '../streams/support.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import { readEntryRows } from '../support/history.js'
import { tryRun } from './support.js'

const DAY = 86_400_000
const FUNDAMENTALS = 'fundamental_data.json'

const readRows = async (out: string, day: string, file: string): Promise<unknown> => {
  const entry = (await readRecordedDay(out, day))?.entries[file]
  return entry && (await readEntryRows(out, file, entry))
}

const readOutput = (out: string, file: string): unknown => JSON.parse(readFileSync(join(out, file), 'utf8'))

describe('the history of a folder', () => {
  it('has every day as it was', async () => {
    const out = temporaryFolder()
    await tryRun({ out, now: EVENING - DAY })
    const before = readOutput(out, FUNDAMENTALS)
    await tryRun({ out, now: EVENING, answers: (name) => (name === 'fundamental BETA' ? { data: [] } : undefined) })
    expect(await listDays(out)).toEqual(['2026-02-11', '2026-02-12'])
    expect(await readRows(out, '2026-02-11', FUNDAMENTALS)).toEqual(before)
    expect(await readRows(out, '2026-02-12', FUNDAMENTALS)).toEqual(readOutput(out, FUNDAMENTALS))
    expect(readOutput(out, FUNDAMENTALS)).not.toEqual(before)
  })

  it('has the day of a run that was broken off and resumed', async () => {
    const out = temporaryFolder()
    const broken = await tryRun({ out, hangs: (request) => /GAMMA|DELTA/.test(request) && !request.startsWith('fundamental') })
    expect(broken.report).toBeUndefined()
    expect(await listDays(out)).toEqual([])
    expect((await tryRun({ out })).report?.outcome).toBe('complete')
    expect(await readRows(out, '2026-02-12', FUNDAMENTALS)).toEqual(readOutput(out, FUNDAMENTALS))
  })

  it('lacks a list that lost items, until they are fetched', async () => {
    const out = temporaryFolder()
    await tryRun({ out, isAway: (request) => request === 'fundamental GAMMA' })
    expect(await listDays(out)).toEqual(['2026-02-12'])
    expect(await readRows(out, '2026-02-12', FUNDAMENTALS)).toBeUndefined()
    expect(await readRows(out, '2026-02-12', 'master_isin_map.json')).toHaveLength(4)
    await tryRun({ out })
    expect(await readRows(out, '2026-02-12', FUNDAMENTALS)).toHaveLength(4)
  })

  it('is not changed by a run of some stocks, or of a list that fails', async () => {
    const out = temporaryFolder()
    await tryRun({ out, now: EVENING - DAY })
    await tryRun({ out, now: EVENING, symbols: ['BETA'] })
    expect(await readRows(out, '2026-02-12', FUNDAMENTALS)).toBeUndefined()
  })

  it('can be switched off, which changes no output', async () => {
    const [out, other] = [temporaryFolder(), temporaryFolder()]
    await tryRun({ out: other })
    expect(existsSync(join(other, '.scripstream', 'history'))).toBe(true)
    expect((await tryRun({ out, history: false })).report?.outcome).toBe('complete')
    expect(existsSync(join(out, '.scripstream', 'history'))).toBe(false)
    expect(hashOutputs(out)).toEqual(hashOutputs(other))
  })
})
