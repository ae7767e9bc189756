import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Row } from '../../src/model/row.js'
import { toRunLogEntry } from '../../src/model/run-log.js'
import { addDays, lastWeekday } from '../../src/model/trading-day.js'
import { deleteDays } from '../../src/storage/history/delete.js'
import { verifyHistory } from '../../src/verify/history-checks.js'
import {
  checkColumns,
  checkFigures,
  checkMembers,
  findUnchanged,
  type ListCheck,
} from '../../src/verify/list-checks.js'
import { streams } from '../../streams/registry.js'
import { runReport, scriptReport } from '../cli/support.js'
import { temporaryFolder } from '../support/folders.js'
import { recordRun, tablesOf } from '../support/recorded-run.js'
import { collectTenDays, DAYS } from '../tables/history/ten-days.js'

const dayAt = (index: number): string => addDays('2026-02-01', index)

/** The findings about lists of days from the first of February on. */
const find = (check: ListCheck, lists: readonly (readonly object[])[]) => {
  for (const [index, rows] of lists.entries()) check.addDay(dayAt(index), rows as readonly Row[])
  return check.finish()
}

const gistsOf = (findings: ReturnType<typeof find>) =>
  findings.map(({ severity, symbol, day }) => [severity, symbol, day].filter(Boolean).join(' '))

const repeat = <T>(count: number, create: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => create(index))

describe('a column that lost its values', () => {
  /** 100 records, of which some have a value in `x`, and all in `y`. */
  const withShare = (percent: number, records = 100) =>
    repeat(records, (rank) => ({ x: rank < (percent * records) / 100 ? 1 : null, y: rank }))

  it.each<readonly [string, readonly number[], readonly string[]]>([
    ['has none since a day', [90, 80, 0, 0], ['error 2026-02-03']],
    ['never had any', [0, 0, 0, 0], []],
    ['had few', [10, 10, 10, 0], []],
    ['had a value on one day only', [90, 0, 0], []],
    ['has none on some days', [90, 0, 90, 0], []],
    ['is filled again', [90, 90, 0, 90], []],
    ['has fewer than half of the usual values', [90, 92, 91, 90, 94, 40], ['warning 2026-02-06']],
    ['fades day by day', [100, 90, 80, 70, 60, 50, 40, 30, 20], ['warning 2026-02-07']],
    ['has more than half of the usual values', [90, 92, 91, 90, 94, 50], []],
    ['swings', [90, 10, 90, 10, 90, 10, 90, 10], []],
  ])('%s', (_, shares, expected) => {
    const findings = find(
      checkColumns('a.json'),
      shares.map((share) => withShare(share)),
    )
    expect(gistsOf(findings)).toEqual(expected)
  })

  it('is one that is gone, or one within a list or a record', () => {
    const before = repeat(10, (rank) => ({
      Symbol: `S${rank}`,
      CV: { PE: '1' },
      EMA: [{ Value: 1 }, { Value: null }],
    }))
    const now = before.map(({ Symbol: name }) => ({ Symbol: name, CV: {}, EMA: [{ Value: '-' }] }))
    const [finding, ...others] = find(checkColumns('a.json'), [before, before, now])
    expect(finding?.detail).toMatch(
      /^CV\.PE, EMA\.Value: a value in none of the 10 records since 2026-02-03, /,
    )
    expect(others).toEqual([])
  })

  it('is not found if fewer than a fifth of many records had one', () => {
    expect(
      find(
        checkColumns('a.json'),
        [15, 15, 15, 0].map((share) => withShare(share, 1_000)),
      ),
    ).toEqual([])
    expect(
      find(
        checkColumns('a.json'),
        [25, 25, 25, 0].map((share) => withShare(share, 1_000)),
      ),
    ).toHaveLength(1)
  })

  it('is not found in a list of a few records, where it may be chance', () => {
    expect(
      find(
        checkColumns('a.json'),
        [80, 80, 80, 0].map((share) => withShare(share, 5)),
      ),
    ).toEqual([])
    expect(
      find(
        checkColumns('a.json'),
        [100, 100, 100, 0].map((share) => withShare(share, 5)),
      ),
    ).toHaveLength(1)
    expect(
      find(
        checkColumns('a.json'),
        [100, 100, 100, 0].map((share) => withShare(share, 4)),
      ),
    ).toEqual([])
  })
})

describe('a list that no longer changes', () => {
  const findIn = (contents: string) =>
    findUnchanged(
      'a.json',
      [...contents].map((content, index) => ({ day: dayAt(index), content })),
    )

  it.each([
    ['changed each day', 'abcdefff', false],
    ['changed each day', 'abcdeffff', true],
    ['changed too rarely to know', 'abcddddddddd', false],
    ['once stood still for a day', 'abbcdefffffff', true],
    ['once stood still for a day', 'abbcdeffffff', false],
    ['never changed', 'aaaaaaaaaaaaaaa', false],
    ['changes each week', 'aaaaabbbbbcccccdddddeeeee', false],
    ['has the content of an earlier day', 'abcdefaaaa', true],
    ['has no day', '', false],
  ])('%s: %s', (_, contents, isFound) => {
    expect(findIn(contents)).toHaveLength(isFound ? 1 : 0)
  })
})

describe('restated figures', () => {
  const stock = (rank: number, tables: object) => ({ Symbol: `S${rank}`, ISIN: `INE${rank}`, ...tables })
  const consolidated = (YEAR: string, SALES: string) => ({ incomeStat_cq: { YEAR, SALES } })

  it('are those of the same quarter, also if another one came before it, or the stock was away or has another form', () => {
    const others = repeat(60, (rank) => stock(rank + 10, consolidated('202509', '7')))
    const days = [
      [stock(1, consolidated('202512|202509', '10|1960.0')), ...others],
      [...others],
      [stock(1, { Note: 'x', ...consolidated('202603|202512|202509', '5|10|196.0') }), ...others],
    ]
    const findings = find(checkFigures('f.json'), days)
    expect(findings.map(({ symbol, detail }) => [symbol, detail])).toEqual([
      ['S1', 'sales of 2025-09 was 1,960.0 on 2026-02-01 and is 196.0 on 2026-02-03'],
    ])
  })

  it('of many stocks are one finding', () => {
    const days = ['7', '700'].map((sales) => repeat(20, (rank) => stock(rank, consolidated('202509', sales))))
    const [finding, ...others] = find(checkFigures('f.json'), days)
    expect(others).toEqual([])
    expect(finding).toMatchObject({
      severity: 'warning',
      day: '2026-02-02',
      detail: expect.stringMatching(/^20 of 20 stocks are restated, S0, S1, S2 and 17 more; S0: /),
    })
  })
})

describe('members that left and came back', () => {
  const list = (...ranks: readonly number[]) =>
    ranks.map((rank) => ({ Symbol: `S${rank}`, ISIN: `INE${rank}` }))

  it('are found each time, and those that are renamed, new or gone are not', () => {
    const lists = [
      list(1, 2, 3),
      list(2),
      [...list(1, 4), { Symbol: 'NEW', ISIN: 'INE2' }],
      list(4),
      list(1, 4),
    ]
    expect(gistsOf(find(checkMembers('m.json', 'warning'), lists))).toEqual([
      'warning S1 2026-02-03',
      'warning S1 2026-02-05',
    ])
  })

  it('on the same days are one finding if they are many', () => {
    const all = repeat(40, (rank) => rank)
    const findings = find(checkMembers('m.json', 'info'), [list(...all), list(...all.slice(6)), list(...all)])
    expect(findings).toMatchObject([
      {
        day: '2026-02-03',
        detail: expect.stringMatching(
          /^6 members, S0, S1, S2 and 3 more, were last in the list on 2026-02-01/,
        ),
      },
    ])
    expect(findings[0]).not.toHaveProperty('symbol')
  })
})

describe('the checks of the history', () => {
  const check = (root: string, sessions: readonly number[] = []) =>
    verifyHistory(root, { sessions, streams, exchange: 'NSE', isDeep: true })

  it('find nothing without a history, or with one day', async () => {
    expect(await check(temporaryFolder())).toMatchObject({ findings: [], range: { days: 0 } })
    const root = await collectTenDays()
    await deleteDays(root, { before: DAYS[9] ?? '' }, 0)
    expect(await check(root)).toMatchObject({
      findings: [],
      range: { days: 1, first: DAYS[9], last: DAYS[9] },
    })
  })

  it('look at the newest 21 days', async () => {
    const root = temporaryFolder()
    const days = repeat(35, dayAt).filter((day) => lastWeekday(day) === day)
    for (const [index, day] of days.entries()) {
      writeFileSync(join(root, 'fundamental_data.json'), JSON.stringify([{ Symbol: `S${index}` }]))
      await recordRun(root, { day, request: { tables: tablesOf('fundamental_data.json') } })
    }
    expect((await check(root)).range).toEqual({ days: 21, first: days.at(-21), last: days.at(-1) })
  })

  it('name a damaged base and its copy once, and compare the other lists', async () => {
    const root = await collectTenDays()
    const history = join(root, '.scripstream', 'history')
    const base = readdirSync(join(history, 'bases')).find((name) => name.startsWith('master-')) ?? ''
    const count = async () => (await check(root)).findings.filter(({ check: name }) => name === 'files')
    writeFileSync(join(history, 'bases', base), 'x')
    expect(await count()).toMatchObject([
      {
        severity: 'error',
        file: `.scripstream/history/bases/${base}`,
        detail: expect.stringContaining('is damaged'),
      },
    ])
    // Without the copy in the record of the day, no list that is recorded as changes of the base can be read.
    writeFileSync(join(history, DAYS[0] ?? '', '20260202T150000Z', 'master.parquet'), 'x')
    const { findings } = await check(root)
    const files = findings.flatMap(({ check: name, file }) => (name === 'files' ? [file] : []))
    expect(files).toHaveLength(2)
    expect(findings.map(({ check: name }) => name)).toContain('restated-figures')
  })

  it('leave out days that are no session', async () => {
    const root = await collectTenDays()
    const sessions = DAYS.slice(0, 9).map((day) => Date.parse(day) / 86_400_000)
    const checks = async (days: readonly number[]) =>
      (await check(root, days)).findings.map((finding) => finding.check)
    expect(await checks([...sessions, Date.parse(DAYS[9] ?? '') / 86_400_000])).toContain('unchanged-lists')
    expect(await checks([...sessions, Date.parse('2026-02-14') / 86_400_000])).not.toContain(
      'unchanged-lists',
    )
  })

  it('say since when a stream has no record, if the log does not know of the runs', async () => {
    const root = temporaryFolder()
    const files = { 'all-indices': 'all_indices_list.json', 'fundamental-data': 'fundamental_data.json' }
    const days = ['2026-02-02', '2026-02-03', '2026-02-04', '2026-02-05'] as const
    for (const [index, day] of days.entries()) {
      for (const file of Object.values(files))
        writeFileSync(join(root, file), JSON.stringify([{ Sid: index, Symbol: 'S1' }]))
      if (index >= 2) rmSync(join(root, files['fundamental-data']))
      await recordRun(root, { day, request: { tables: tablesOf(...Object.values(files)) } })
    }
    const findFailing = async () =>
      (await check(root)).findings.filter((finding) => finding.check === 'failing-streams')
    expect(await findFailing()).toMatchObject([
      {
        severity: 'warning',
        day: days[2],
        detail: expect.stringContaining('its last one is of 2026-02-03'),
        file: 'fundamental_data.json',
      },
    ])
    writeFileSync(
      join(root, '.scripstream', 'runs.ndjson'),
      JSON.stringify(toRunLogEntry(runReport({ run: 'r', asOf: `${days[3]}T12:00:00Z` }), {})),
    )
    expect(await findFailing()).toEqual([])
    const failed = scriptReport({ outcome: 'failed', error: 'no answer' })
    const lines = days.slice(2).map((day) => {
      const report = runReport({
        run: day,
        asOf: `${day}T12:00:00Z`,
        scripts: { 'all-indices': failed, 'fundamental-data': failed },
      })
      return `${JSON.stringify(toRunLogEntry(report, {}))}\n`
    })
    writeFileSync(join(root, '.scripstream', 'runs.ndjson'), lines.join(''))
    const expected = Object.values(files).map((file) => ({ severity: 'error', day: days[2], file }))
    expect(await findFailing(), 'two streams since one day are two findings').toMatchObject(expected)
  })
})
