import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Day } from '../../../src/model/trading-day.js'
import { listListedDays } from '../../../src/storage/history/choose.js'
import { openHistory } from '../../../src/storage/history/record.js'
import { snapshotFolder, temporaryFolder } from '../../support/folders.js'
import { recordRun, type TestRun } from '../../support/recorded-run.js'
import { duckdb } from '../support.js'
import { ANSWERS, askAsOf, isPlain, openPlain } from './known-answers.js'
import { collectTenDays, DAYS, MISSED, RECORDED, storeDay } from './ten-days.js'

const [FRIDAY, MONDAY] = ['2026-02-13', '2026-02-16'] as const

interface Scenario {
  /** What a later run does: its lists are those of another day unless `finds` says which. */
  readonly runs: readonly (TestRun & { readonly finds?: number })[]
  /** The statements whose answer for the missed day is that of the run, if any. */
  readonly adds?: 'all' | 'deals'
  /** What is said about the answers for the missed day, if the run adds to it. */
  readonly says?: string
  /** The session that the run adds to the recorded ones. */
  readonly newDay?: Day
}

const LATE_ALLOWED = { isLateAllowed: true } as const

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'a run as of a recorded day': { runs: [{ day: MONDAY, asOf: '2026-02-03' }] },
  'a run as of a recorded day that records late': {
    runs: [{ day: MONDAY, asOf: '2026-02-03', request: LATE_ALLOWED }],
  },
  'a run as of a day that was collected late': {
    runs: [{ day: MONDAY, asOf: '2026-02-04', request: LATE_ALLOWED }],
  },
  'a run as of the missed day': {
    runs: [{ day: MONDAY, asOf: '2026-02-06', finds: MISSED }],
    adds: 'deals',
    says: 'collected 10 days later',
  },
  'a run as of the missed day that records late': {
    runs: [{ day: MONDAY, asOf: '2026-02-06', finds: MISSED, request: LATE_ALLOWED }],
    adds: 'all',
    says: 'collected 10 days later',
  },
  'a clock set back by two days': { runs: [{ day: '2026-02-11' }] },
  'a clock set back by eight days': { runs: [{ day: '2026-02-05' }] },
  'a clock set back to the missed day': {
    runs: [{ day: '2026-02-06', finds: MISSED }],
    adds: 'all',
    says: 'collected 7 days later',
  },
  'a clock that is ten years ahead': { runs: [{ day: '2036-02-13' }] },
  'a clock that was ten years ahead, and a run after it': {
    runs: [{ day: '2036-02-13' }, { day: MONDAY }],
    newDay: MONDAY,
  },
  'a clock that was ten years ahead, and then two days behind': {
    runs: [{ day: '2036-02-13' }, { day: '2026-02-11' }],
  },
  'runs on a weekend': { runs: [{ day: '2026-02-14' }, { day: '2026-02-15', time: '11:00' }] },
  'a run on a known holiday': {
    runs: [{ day: MONDAY, request: { calendar: { holidays: new Set([MONDAY]), sessions: {} } } }],
  },
  'a run on an unknown holiday, on which the indices stand still': { runs: [{ day: MONDAY, finds: 9 }] },
  'a run before the market opens': { runs: [{ day: MONDAY, time: '09:00' }] },
  'a second run of an evening': { runs: [{ day: FRIDAY, time: '21:00' }] },
  'a run of the next session': { runs: [{ day: MONDAY }], newDay: MONDAY },
}

// Without those about views, which follow from the lists: known-truth.test.ts.
const STATEMENTS = Object.keys(ANSWERS).filter(isPlain)
const toOne = (all: readonly string[]): string =>
  `select ${all.map((sql) => `(select list(t)::varchar from (${sql}) t)`).join(', ')}`

/** The days that a run below touches, the neighbours of the missed one, and the last one. */
const ASKED = [1, 2, 3, MISSED, 5, 7, 9].map((index) => DAYS[index] as Day)

/** All answers as of these days, by our query and by DuckDB alone, and what is said about them. */
const readAnswers = async (root: string): Promise<Readonly<Record<string, unknown>>> => {
  const plain = await openPlain(root)
  const found: Record<string, unknown> = {}
  const add = (
    day: Day,
    all: readonly string[],
    [row = []]: readonly (readonly string[])[],
    by = '',
  ): void => {
    for (const [index, sql] of all.entries()) found[`${day} ${by}${sql}`] = row[index]
  }
  for (const day of ASKED) {
    const { rows, answers } = await askAsOf(toOne(STATEMENTS), root, day)
    found[`${day} says`] = answers
    add(day, STATEMENTS, rows)
    add(day, STATEMENTS, await plain.ask(toOne(STATEMENTS), day), 'DuckDB: ')
  }
  plain.close()
  return found
}

/** The digest of each file of the record; `views.sql` is written anew. */
const listRecordFiles = (root: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(snapshotFolder(join(root, '.scripstream', 'history'))).flatMap(([name, state]) =>
      state.endsWith('folder') || name === 'views.sql' ? [] : [[name, state.split(' ')[1] ?? '']],
    ),
  )

const pick = <T>(all: Readonly<Record<string, T>>, isPicked: (name: string) => boolean) =>
  Object.fromEntries(Object.entries(all).filter(([name]) => isPicked(name)))

describe.runIf(duckdb)(
  'the answers of ten days stay as they were, and no file of a record changes, after',
  () => {
    const template = mkdtempSync(join(tmpdir(), 'scripstream-ten-days-'))
    let before: Readonly<Record<string, unknown>>
    let files: Readonly<Record<string, string>>

    beforeAll(async () => {
      await collectTenDays(template)
      before = await readAnswers(template)
      files = listRecordFiles(template)
    })
    afterAll(() => rmSync(template, { recursive: true, force: true }))

    it.each(Object.entries(SCENARIOS))('%s', async (_, { runs, adds, says, newDay }) => {
      const root = temporaryFolder()
      cpSync(template, root, { recursive: true })
      for (const { finds, ...run } of runs) {
        const sessions = newDay === undefined ? DAYS : [...DAYS, newDay]
        storeDay(root, finds ?? 0, {
          sessions,
          ...(finds === MISSED ? {} : { stage: () => 'a later stage' }),
        })
        await recordRun(
          root,
          finds === MISSED ? run : { ...run, scripts: { 'bulk-block-deals': { outcome: 'failed' } } },
        )
      }
      expect(pick(listRecordFiles(root), (name) => name in files)).toEqual(files)

      const after = await readAnswers(root)
      const added = STATEMENTS.filter((sql) => adds === 'all' || (adds === 'deals' && sql.endsWith('deals')))
      const isAdded = (name: string): boolean =>
        name.startsWith('2026-02-06') &&
        (added.some((sql) => name.endsWith(sql)) || (adds !== undefined && name.endsWith('says')))
      expect(pick(after, (name) => !isAdded(name))).toEqual(pick(before, (name) => !isAdded(name)))
      const days = [...RECORDED, ...(adds ? ['2026-02-06'] : []), ...(newDay ? [newDay] : [])]
      expect(listListedDays(await openHistory(root))).toEqual(days.sort())

      const plain = await openPlain(root)
      for (const sql of added) {
        const truth = ANSWERS[sql]?.(MISSED)
        const answers = [expect.stringContaining(`2026-02-06 was ${says}`)]
        expect(await askAsOf(sql, root, '2026-02-06'), sql).toEqual({ rows: truth, answers })
        expect(await plain.ask(sql, '2026-02-06'), sql).toEqual(truth)
      }
      plain.close()
      const { answers } = await askAsOf('from master', root, MONDAY)
      expect(answers).toEqual(
        newDay === MONDAY ? [] : [`no record of ${MONDAY}; the one before is of ${FRIDAY}`],
      )
    })
  },
)
