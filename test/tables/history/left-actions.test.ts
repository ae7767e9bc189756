import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { HISTORY, recordRun } from '../../support/recorded-run.js'
import { duckdb, objectsOf } from '../support.js'
import { before, DAYS, type ListedAction, market, toLine } from '../views/one-stock.js'

const FILE = 'history_corporate_actions.json'
/** Two years after every session. */
const LATER = '2028-02-14'

const storeList = (root: string, actions: readonly ListedAction[]): void => {
  const CorpAct = actions.map(([ActType, ExDate, Note]) => ({ ActType, ExDate, RecDate: ExDate, Note }))
  // The list has other stocks, too.
  const other = { Sym: 'B', CorpAct: [{ ActType: 'DIVIDEND', ExDate: DAYS[0], Note: '1' }] }
  writeFileSync(
    join(root, FILE),
    JSON.stringify([other, ...(CorpAct.length > 0 ? [{ Sym: 'A', CorpAct }] : [])]),
  )
}

interface Collected {
  readonly closes?: readonly number[]
  readonly files?: Parameters<typeof market>[3]
}

/** A folder whose lists had these actions on some days; the last ones are those of today. */
const collectLists = async (
  days: Readonly<Record<string, readonly ListedAction[]>>,
  { closes = before(4, 5), files }: Collected = {},
) => {
  const root = market(closes, [], 'A', files)
  for (const [day, actions] of Object.entries(days)) {
    storeList(root, actions)
    // The newest candle says of which session the record is.
    writeFileSync(join(root, 'ohlcv_data/B.csv'), `Timestamp,Open,High,Low,Close,Volume\n${toLine(day, 1)}\n`)
    await recordRun(root, { day, request: HISTORY })
  }
  return root
}

const judge = (out: string) =>
  objectsOf(
    "select kind, terms, factor, is_applied, CAST(day AS VARCHAR) AS day from adjustments where symbol = 'A' order by 1, 2",
    out,
  )

const SPLIT: ListedAction = ['SPLIT', DAYS[4], '2:10']

describe.skipIf(!duckdb)('an action that left the list', () => {
  it('after two years still divides the prices before it, and has its dividend', async () => {
    const out = await collectLists({ [DAYS[6]]: [SPLIT, ['DIVIDEND', DAYS[2], '5']], [LATER]: [] })
    expect(await judge(out)).toMatchObject([
      { kind: 'dividend', terms: '5' },
      { kind: 'split', factor: 5, is_applied: 0, day: DAYS[4] },
    ])
    const closes = await objectsOf("select close from candles_adjusted where symbol = 'A' order by day", out)
    expect(closes.map(({ close }) => close)).toEqual(before(4, 1))
  })

  it('was called off if it left before its day', async () => {
    expect(
      await judge(await collectLists({ [DAYS[6]]: [['SPLIT', '2026-02-20', '2:10']], [DAYS[7]]: [] })),
    ).toEqual([])
  })

  it('was withdrawn if the next list lacks it within two years, also if later lists follow', async () => {
    const out = await collectLists({ [DAYS[6]]: [['DIVIDEND', DAYS[5], '50']], [DAYS[7]]: [], [LATER]: [] })
    expect(await judge(out)).toEqual([])
  })

  it.each([
    ['another ratio', ['SPLIT', DAYS[4], '1:10']],
    ['another kind', ['BONUS', DAYS[4], '4:1']],
  ] as const)('was corrected from %s', async (_, wrong) => {
    const out = await collectLists({ [DAYS[6]]: [wrong], [DAYS[7]]: [SPLIT] })
    expect(await judge(out)).toMatchObject([{ kind: 'split', terms: '2:10', factor: 5 }])
    const [first] = await objectsOf(
      "select close_first from candles_adjusted where symbol = 'A' order by day",
      out,
    )
    expect(first).toEqual({ close_first: 500 })
  })

  it('was corrected by a second run of the day, and stays while there is no list', async () => {
    const out = await collectLists({ [DAYS[7]]: [['BONUS', DAYS[4], '4:1']] })
    storeList(out, [SPLIT])
    expect(await judge(out)).toMatchObject([{ kind: 'split' }])
    rmSync(join(out, FILE))
    expect(await judge(out)).toMatchObject([{ kind: 'bonus', factor: 5 }])
  })

  it('with its stock still divides the prices before it, unless it was corrected before', async () => {
    const files = {
      'master_isin_map.json': [{ Symbol: 'B', ISIN: 'INE009A01039', Name: 'B', Sid: '2', FnoFlag: 0 }],
    }
    const lists = { [DAYS[5]]: [['BONUS', DAYS[4], '4:1']], [DAYS[6]]: [SPLIT], [DAYS[7]]: [] } as const
    expect(await judge(await collectLists(lists, { files }))).toMatchObject([{ kind: 'split', factor: 5 }])
  })

  it('stays beside one of its kind that the list had together with it', async () => {
    const late: ListedAction = ['FINAL DIVIDEND', DAYS[3], '2']
    const lists = { [DAYS[6]]: [['INTERIM DIVIDEND', DAYS[1], '1'], late], [LATER]: [late] } as const
    const out = await collectLists(lists, { closes: before(4, 1) })
    expect((await judge(out)).map(({ terms }) => terms)).toEqual(['1', '2'])
  })

  it('is told once, however its text is written', async () => {
    const out = await collectLists({ [DAYS[6]]: [['Split ', DAYS[4], ' 2:10']], [DAYS[7]]: [SPLIT] })
    expect(await judge(out)).toHaveLength(1)
  })
})
