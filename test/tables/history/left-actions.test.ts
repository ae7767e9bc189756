import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { HISTORY, recordRun } from '../../support/recorded-run.js'
import { duckdb, objectsOf } from '../support.js'
import { before, DAYS, type ListedAction, market } from '../views/one-stock.js'

const FILE = 'history_corporate_actions.json'

/** A folder whose lists had these actions on the last two sessions; the last ones are those of today. */
const collectLists = async (closes: readonly number[], ...days: readonly (readonly ListedAction[])[]) => {
  const root = market(closes, [], 'A')
  for (const [place, actions] of days.entries()) {
    const CorpAct = actions.map(([ActType, ExDate, Note]) => ({ ActType, ExDate, RecDate: ExDate, Note }))
    writeFileSync(join(root, FILE), JSON.stringify(actions.length > 0 ? [{ Sym: 'A', CorpAct }] : []))
    await recordRun(root, { day: DAYS[6 + place] as string, request: HISTORY })
  }
  return root
}

const judge = (out: string) =>
  objectsOf(
    'select kind, terms, factor, is_applied, CAST(day AS VARCHAR) AS day from adjustments order by 1, 2',
    out,
  )

describe.skipIf(!duckdb)('an action that left the list', () => {
  it('still divides the prices before it, and has its dividend', async () => {
    const listed: readonly ListedAction[] = [
      ['SPLIT', DAYS[4], '2:10'],
      ['DIVIDEND', DAYS[2], '5'],
    ]
    const out = await collectLists(before(4, 5), listed, [])
    expect(await judge(out)).toMatchObject([
      { kind: 'dividend', terms: '5' },
      { kind: 'split', factor: 5, is_applied: 0, day: DAYS[4] },
    ])
    const closes = await objectsOf('select close from candles_adjusted order by day', out)
    expect(closes.map(({ close }) => close)).toEqual(before(4, 1))
  })

  it('was called off if it left before its day', async () => {
    expect(await judge(await collectLists(before(4, 1), [['SPLIT', '2026-02-20', '2:10']], []))).toEqual([])
  })

  it('was corrected if another one of its kind came later', async () => {
    const out = await collectLists(before(4, 5), [['SPLIT', DAYS[4], '1:10']], [['SPLIT', DAYS[4], '2:10']])
    expect(await judge(out)).toMatchObject([{ terms: '2:10', factor: 5 }])
  })

  it('stays beside one of its kind that the list had together with it', async () => {
    const [early, late]: readonly ListedAction[] = [
      ['INTERIM DIVIDEND', DAYS[1], '1'],
      ['FINAL DIVIDEND', DAYS[3], '2'],
    ] as const
    const out = await collectLists(before(4, 1), [early, late] as readonly ListedAction[], [
      late as ListedAction,
    ])
    expect((await judge(out)).map(({ terms }) => terms)).toEqual(['1', '2'])
  })

  it('is told once, however its text is written', async () => {
    const out = await collectLists(before(4, 5), [['Split ', DAYS[4], ' 2:10']], [['SPLIT', DAYS[4], '2:10']])
    expect(await judge(out)).toHaveLength(1)
  })
})
