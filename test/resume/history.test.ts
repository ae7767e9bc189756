import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listTables } from '../../src/engine/define-stream.js'
import { findDamages } from '../../src/storage/history/check.js'
import { listListedDays } from '../../src/storage/history/choose.js'
import { openHistory } from '../../src/storage/history/record.js'
import { readTable } from '../../src/storage/table-rows.js'
import { streams } from '../../streams/registry.js'
import { EVENING } from '../streams/support.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import { createRowText, readRecordedList } from '../support/history.js'
import { tryRun } from './support.js'

const DAY = 86_400_000
const FUNDAMENTALS = 'fundamentals'
const MASTER = 'master'

const findTable = (name: string) => {
  const table = listTables(streams).find((one) => one.name === name)
  if (table === undefined) throw new Error(`there is no table ${name}`)
  return table
}

const sortRows = (
  name: string,
  rows: Awaited<ReturnType<typeof readRecordedList>>,
): readonly string[] | undefined => rows?.map(createRowText(findTable(name))).sort()

const readRows = async (out: string, day: string, name: string) =>
  sortRows(name, await readRecordedList(out, name, day))

/** The rows of the output now. */
const readOutput = async (out: string, name: string) => sortRows(name, await readTable(out, findTable(name)))

const listDays = async (out: string) => listListedDays(await openHistory(out))

describe('the history of a folder', () => {
  it('has every day as it was', async () => {
    const out = temporaryFolder()
    await tryRun({ out, now: EVENING - DAY })
    const before = await readOutput(out, FUNDAMENTALS)
    await tryRun({
      out,
      now: EVENING,
      answers: (name) => (name === 'fundamental BETA' ? { data: [{ CV: { PE: '₹99' } }] } : undefined),
    })
    expect(await listDays(out)).toEqual(['2026-02-11', '2026-02-12'])
    expect(before).toHaveLength(4)
    expect(await readRows(out, '2026-02-11', FUNDAMENTALS)).toEqual(before)
    expect(await readRows(out, '2026-02-12', FUNDAMENTALS)).toEqual(await readOutput(out, FUNDAMENTALS))
    expect(await readOutput(out, FUNDAMENTALS)).not.toEqual(before)
    expect(await findDamages(await openHistory(out))).toEqual([])
  })

  it('has the day of a run that was broken off and resumed', async () => {
    const out = temporaryFolder()
    const broken = await tryRun({
      out,
      hangs: (request) => /GAMMA|DELTA/.test(request) && !request.startsWith('fundamental'),
    })
    expect(broken.report).toBeUndefined()
    expect(await listDays(out)).toEqual([])
    expect((await tryRun({ out })).report?.outcome).toBe('complete')
    expect(await readRows(out, '2026-02-12', FUNDAMENTALS)).toEqual(await readOutput(out, FUNDAMENTALS))
  })

  it('lacks a list that lost items, until they are fetched', async () => {
    const out = temporaryFolder()
    await tryRun({ out, isAway: (request) => request === 'fundamental GAMMA' })
    expect(await listDays(out)).toEqual(['2026-02-12'])
    expect(await readRows(out, '2026-02-12', FUNDAMENTALS)).toBeUndefined()
    expect(await readRows(out, '2026-02-12', MASTER)).toHaveLength(4)
    await tryRun({ out })
    expect(await readRows(out, '2026-02-12', FUNDAMENTALS)).toHaveLength(4)
  })

  it('is not changed by a run of some stocks, or of a list that fails', async () => {
    const out = temporaryFolder()
    await tryRun({ out, now: EVENING - DAY })
    const before = await readRows(out, '2026-02-11', FUNDAMENTALS)
    await tryRun({ out, now: EVENING, symbols: ['BETA'] })
    expect(await readRows(out, '2026-02-12', FUNDAMENTALS)).toBeUndefined()
    expect(await readRows(out, '2026-02-11', FUNDAMENTALS)).toEqual(before)
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
