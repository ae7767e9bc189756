import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runProgram } from '../../src/cli/program.js'
import { openHistory } from '../../src/storage/history/record.js'
import {
  createRecorded,
  HISTORY,
  record,
  storeSessions,
  storeVersion,
  toHistoryFolder,
} from '../storage/history/support.js'
import { snapshotFolder, temporaryFolder } from '../support/folders.js'
import { createTestDependencies, createTestIo } from './support.js'

const DAYS = ['2026-02-09', '2026-02-10', '2026-02-11'] as const

interface Given {
  /** What a person types on a terminal; no terminal without it. */
  readonly answer?: string
  readonly columns?: number
}

const history = async (out: string, args: readonly string[], { answer, columns = 80 }: Given = {}) => {
  const io = createTestIo({ out: { columns }, err: { columns } })
  const typing = { stdin: { isTTY: answer !== undefined }, readLine: () => Promise.resolve(answer ?? '') }
  const code = await runProgram(
    ['history', ...args, '--out', out],
    { ...io, ...typing },
    createTestDependencies(),
  )
  return { code, text: io.out.text(), err: io.err.text() }
}

const listDays = async (out: string): Promise<readonly string[]> =>
  (await openHistory(out)).records.map(({ day }) => day)

/** Expects that the history has not changed. */
const expectUnchanged = async <T>(out: string, run: () => Promise<T>): Promise<T> => {
  const before = snapshotFolder(toHistoryFolder(out))
  const result = await run()
  expect(snapshotFolder(toHistoryFolder(out))).toEqual(before)
  return result
}

describe('history', () => {
  it('shows the newest days with what they lack, and the sums', async () => {
    const out = await createRecorded(...DAYS.slice(0, 2))
    storeVersion(out, 3)
    await record(out, DAYS[2], { outcomes: { prices: 'partial' } })
    const { code, text } = await history(out, [])
    expect(code).toBe(0)
    expect(text).toMatch(/^2026-02-10 +2026-02-10 20:00 IST .* all$/m)
    expect(text).toMatch(/^2026-02-11 +2026-02-11 20:00 IST .*without prices$/m)
    expect(text).toContain('3 days from 2026-02-09 to 2026-02-11')
    expect(text.replace(/\s+/g, ' ')).toMatch(
      / \([\d.]+ kB a day, and [\d.]+ kB of whole lists to which days add their changes\);/,
    )
  })

  it('names the lists that were collected before they were published, until a later run has them', async () => {
    const out = temporaryFolder()
    const [first, ...others] = HISTORY.tables
    const tables = first ? [{ ...first, table: { ...first.table, publishedAt: '20:00' } }, ...others] : []
    for (const [version, at] of ['13:00', '15:00'].entries()) {
      storeVersion(out, version)
      await record(out, DAYS[0], { at: `${DAYS[0]}T${at}:00.000Z`, history: { tables } })
      const { text } = await history(out, [])
      expect(text).toMatch(/^2026-02-09 .* all$/m)
      expect(text.includes('2026-02-09 18:30 IST (early)')).toBe(version === 0)
      expect(
        text.includes('\nearly: prices of 2026-02-09 were collected too early; query --as-of says why\n'),
      ).toBe(version === 0)
    }
  })

  it('says nothing of whole lists that days add their changes to, if there are none', async () => {
    const out = await createRecorded(DAYS[0])
    expect((await history(out, [])).text.replace(/\s+/g, ' ')).toMatch(/ \([\d.]+ kB a day\);/)
  })

  it('shows a damaged day', async () => {
    const out = await createRecorded(...DAYS)
    const [folder = ''] = readdirSync(join(toHistoryFolder(out), DAYS[1]))
    writeFileSync(join(toHistoryFolder(out), DAYS[1], folder, 'record.json'), '{}')
    expect((await history(out, [])).text).toMatch(/^2026-02-10 .* damaged$/m)
  })

  it('marks a day of a clock that was ahead, which is no last day', async () => {
    const out = temporaryFolder()
    storeSessions(out, [DAYS[0]])
    for (const [version, day] of [DAYS[0], '2036-02-11', DAYS[1]].entries()) {
      storeVersion(out, version)
      await record(out, day, version === 1 ? { outcomes: { lists: 'partial' } } : {})
    }
    const { text } = await history(out, [])
    expect(text).toMatch(/^2036-02-11 .* \(wrong clock\) /m)
    expect(text).toContain('2 days from 2026-02-09 to 2026-02-10')
    expect(text).toContain('no session without a record')
  })

  it('says that nothing is recorded yet', async () => {
    expect((await history(temporaryFolder(), [])).text).toContain('No day is recorded in')
  })

  it.each([
    [['prune'], 'name the first day that stays'],
    [['prune', '2026-02-31'], '2026-02-31'],
    [['delete'], 'name the day'],
    [['delete', 'yesterday'], 'yesterday'],
    [['delete', '2026-02-12', '--yes'], '2026-02-12 is not recorded in'],
    [['compact', '2026-02-10'], 'takes no day'],
    [['--yes'], '--dry-run and --yes belong to'],
    [['drop'], 'drop'],
  ])('changes nothing after wrong arguments: %j', async (args, message) => {
    const out = await createRecorded(...DAYS)
    const { code, err } = await expectUnchanged(out, () => history(out, args))
    expect(code).toBe(2)
    expect(err.replace(/\s+/g, ' ')).toContain(message)
  })

  it('deletes one day after a yes', async () => {
    for (const answer of ['y', ' YES ']) {
      const out = await createRecorded(...DAYS)
      const { code, text, err } = await history(out, ['delete', '2026-02-10'], { answer })
      expect(err).toMatch(
        /^ {2}2026-02-10\nTo be deleted: 1 day, 4 files, .*\nDelete 1 recorded day\? It cannot be fetched again\. \[y\/N\] $/,
      )
      expect([code, text]).toEqual([0, expect.stringMatching(/^Deleted 1 day, 4 files, .*\.\n$/)])
      expect(await listDays(out)).toEqual(['2026-02-09', '2026-02-11'])
    }
  })

  it.each(['n', '', 'no', 'yesterday'])('deletes nothing after the answer %j', async (answer) => {
    const out = await createRecorded(...DAYS)
    const { code, err } = await expectUnchanged(out, () => history(out, ['delete', '2026-02-10'], { answer }))
    expect(code).toBe(2)
    expect(err).toContain('nothing was deleted')
  })

  it('deletes nothing off a terminal without --yes', async () => {
    const out = await createRecorded(...DAYS)
    for (const args of [
      ['delete', '2026-02-10'],
      ['prune', '2026-02-11'],
      ['prune', '2026-02-11', '--json'],
    ]) {
      const { code, err } = await expectUnchanged(out, () => history(out, args))
      expect(code).toBe(2)
      expect(err).toContain('add --yes to confirm')
    }
    expect((await history(out, ['delete', '2026-02-10', '--yes'])).code).toBe(0)
    expect(await listDays(out)).toEqual(['2026-02-09', '2026-02-11'])
  })

  it('names the days before a day with --dry-run, and deletes none', async () => {
    const out = await createRecorded(...DAYS)
    const { code, text } = await expectUnchanged(out, () =>
      history(out, ['prune', '2026-02-11', '--dry-run']),
    )
    expect(code).toBe(0)
    expect(text).toMatch(
      /^ {2}2026-02-09\n {2}2026-02-10\n(.*base.*\n)?To be deleted: 2 days, \d+ files, .*\.\n$/,
    )
    const json = await history(out, ['prune', '2026-02-11', '--dry-run', '--json'])
    expect(JSON.parse(json.text)).toMatchObject({ isDryRun: true, days: ['2026-02-09', '2026-02-10'] })
  })

  it('deletes the days before a day', async () => {
    const out = await createRecorded(...DAYS)
    expect((await history(out, ['prune', '2026-02-11', '--yes'])).text).toMatch(
      /^Deleted 2 days, \d+ files, .*\.\n$/,
    )
    expect(await listDays(out)).toEqual(['2026-02-11'])
    expect((await history(out, ['compact'])).text).toBe('Nothing to delete.\n')
    expect((await history(out, ['prune', '2026-02-11'])).text).toBe('Nothing to delete.\n')
  })

  it('deletes bases that no day needs', async () => {
    const out = await createRecorded(...DAYS)
    const base = join(toHistoryFolder(out), 'bases', 'old-2025-01-01-0123456789abcdef.parquet')
    writeFileSync(base, 'x')
    const { text, err } = await history(out, ['compact'], { answer: 'y' })
    expect(err).toMatch(
      /1 base that no other day needs\nTo be deleted: 1 file, .*\nDelete 1 base\? \[y\/N\] $/,
    )
    expect(text).toMatch(/^Deleted 1 file/)
    expect(existsSync(base)).toBe(false)
    expect(await listDays(out)).toEqual(DAYS)
  })

  it.each([40, 80, 200])('fits %i columns', async (columns) => {
    const out = await createRecorded(...DAYS)
    const all = await Promise.all(
      [[], ['prune', '2026-02-11', '--dry-run']].map((args) => history(out, args, { columns })),
    )
    for (const { text } of all)
      expect(Math.max(...text.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(columns)
  })
})
