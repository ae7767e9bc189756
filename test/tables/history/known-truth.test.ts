import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lastValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { Day } from '../../../src/model/trading-day.js'
import { diff } from '../../../src/tables/changes/diff.js'
import { wholeLake } from '../../../src/tables/lake/whole-lake.js'
import type { Finding } from '../../../src/verify/finding.js'
import { verify } from '../../../src/verify/verify.js'
import { streams } from '../../../streams/registry.js'
import { duckdb } from '../support.js'
import { ANSWERS, askAsOf, describeTruth, isPlain, openPlain, STOCKS, toNumber } from './known-answers.js'
import {
  collectTenDays,
  DAYS,
  DEAD,
  HISTORY_CHECKS,
  knownAt,
  listOn,
  MISSED,
  RECORDED,
  STANDSTILL,
  salesOn,
  stageOn,
} from './ten-days.js'

type Told = readonly (string | undefined)[]

/** What changed in the list of stocks between two recorded days, worked out from the lists themselves. */
const findListingTruth = (from: number, to: number): readonly Told[] => {
  const isListed = (isin: string, index: number): boolean => nameOf(isin, index) !== undefined
  const nameOf = (isin: string, index: number) => listOn(index).find(({ ISIN }) => ISIN === isin)?.Symbol
  const recorded = DAYS.map((_, index) => index).filter((index) => index !== MISSED)
  const isins = [...new Set([...listOn(from), ...listOn(to)].map(({ ISIN }) => ISIN))]
  return isins.flatMap((isin): readonly Told[] => {
    const [before, now] = [nameOf(isin, from), nameOf(isin, to)]
    if (before === now) return []
    let since = to
    for (const index of recorded.filter((one) => one > from && one < to).reverse()) {
      if (nameOf(isin, index) !== now) break
      since = index
    }
    const wasListed = recorded.some((index) => index < from && isListed(isin, index))
    const change = now === undefined ? 'left' : before !== undefined ? 'renamed' : wasListed ? 'back' : 'new'
    return [[change, now ?? before, DAYS[since]]]
  })
}

const findStageTruth = (from: number, to: number): readonly Told[] =>
  STOCKS.flatMap((stock): readonly Told[] => {
    const [before, now] = [stageOn(stock, from), stageOn(stock, to)]
    const change = before === undefined ? 'entered' : now === undefined ? 'left' : 'changed'
    return before === now ? [] : [[change, `S${stock}`, undefined]]
  })

const findResultTruth = (from: number, to: number): readonly Told[] =>
  listOn(to)
    .filter(({ ISIN }) => listOn(from).some((stock) => stock.ISIN === ISIN))
    .flatMap((stock): readonly Told[] => {
      const [before, now] = [salesOn(toNumber(stock), from), salesOn(toNumber(stock), to)]
      const isRestated = now.at(-1)?.[1] !== before.at(-1)?.[1]
      return [
        ...(now.length > before.length ? [['new', stock.Symbol, undefined]] : []),
        ...(isRestated ? [['changed', stock.Symbol, undefined]] : []),
      ]
    })

const toTexts = (all: readonly Told[]): readonly string[] =>
  all.map((one) => one.filter(Boolean).join(' ')).sort()

const changesOf = async (root: string, since: Day, until?: Day): Promise<readonly string[]> => {
  const only = ['listings', 'renames', 'surveillance', 'results'] as const
  const { changes } = await diff(root, { exchange: 'NSE', streams, since, until, only })
  return toTexts(changes.map(({ change, symbol, day }) => [change, symbol, day]))
}

const findTruth = (from: number, to: number): readonly string[] =>
  toTexts([...findListingTruth(from, to), ...findStageTruth(from, to), ...findResultTruth(from, to)])

const verified = (root: string) =>
  verify(root, { streams, exchange: 'NSE', limits: {}, only: [...HISTORY_CHECKS, 'files'] })

const toGist = ({ check, severity, symbol, day, file }: Finding): string =>
  [check, severity, symbol, day, file].filter(Boolean).join(' ')

describe.runIf(duckdb)('ten days with known truth', () => {
  it('answer every query as of every day, whether it was recorded, missed, collected twice or late, and say so', async () => {
    const root = await collectTenDays()
    await lastValueFrom(wholeLake({ streams }).write(root))
    const [plain, lake] = [await openPlain(root), await openPlain(root, 'lake')]
    for (const [index, day] of DAYS.entries()) {
      const used = index === MISSED ? index - 1 : index
      for (const [sql, answer] of Object.entries(ANSWERS)) {
        const { rows, answers } = await askAsOf(sql, root, day)
        expect(rows, `${sql} as of ${day}`).toEqual(answer(used))
        expect(answers, `${sql} as of ${day}`).toEqual(describeTruth(sql, index))
        if (isPlain(sql))
          expect(await plain.ask(sql, day), `${sql} as of ${day}, DuckDB`).toEqual(answer(used))
        expect(await lake.ask(sql, day), `${sql} as of ${day}, DuckDB in the lake`).toEqual(answer(used))
      }
    }
    const sql = 'select day, known_at from history.master group by all order by day'
    const times = RECORDED.map((day) => [day, knownAt(DAYS.indexOf(day))])
    expect((await askAsOf(sql, root)).rows).toEqual(times)
    expect(await plain.ask(sql)).toEqual(times)
    await expect(plain.ask('from master', '2026-02-01')).rejects.toThrow(
      'master has no record until the chosen day; the first one is of 2026-02-02',
    )
    plain.close()
    lake.close()
  })
})

describe('ten days with known truth', () => {
  it('differ from each other, and from the present, as they do', async () => {
    const root = await collectTenDays()
    const last = DAYS.length - 1
    for (const [at, since] of RECORDED.entries()) {
      const from = DAYS.indexOf(since)
      for (const until of RECORDED.slice(at + 1))
        expect(await changesOf(root, since, until), `${since} ${until}`).toEqual(
          findTruth(from, DAYS.indexOf(until)),
        )
      if (from < last) expect(await changesOf(root, since), `since ${since}`).toEqual(findTruth(from, last))
    }
  })

  it('have the findings that only the history shows, and no other', async () => {
    const root = await collectTenDays()
    const { findings, history } = await verified(root)
    expect(history).toEqual({ days: 9, first: DAYS[0], last: DAYS[9] })
    expect(findings.map(toGist).sort()).toEqual(
      [
        `dead-columns error ${DAYS[DEAD]} master_data_response.json`,
        `unchanged-lists warning ${DAYS[STANDSTILL]} upper_circuit_stocks.json`,
        `restated-figures warning S3 ${DAYS[5]} fundamental_data.json`,
        `restated-figures info S4 ${DAYS[8]} fundamental_data.json`,
        `blinking-members warning S7 ${DAYS[5]} master_isin_map.json`,
        `blinking-members info S1 ${DAYS[5]} nse_asm_list.json`,
        `failing-streams error ${DAYS[DEAD]} bulk_block_deals.json`,
      ].sort(),
    )
    expect(new Set(findings.map(({ check }) => check))).toEqual(new Set(HISTORY_CHECKS))
    const details = Object.fromEntries(
      findings.map(({ check, symbol = '', detail }) => [`${check} ${symbol}`.trim(), detail]),
    )
    expect(details).toMatchObject({
      'dead-columns':
        'Pe: a value in none of the 30 records since 2026-02-11, in all of them on each of the 6 recorded days from 2026-02-02 to 2026-02-10',
      'restated-figures S3': 'sales of 2025-09 was 1,960.0 on 2026-02-05 and is 196.0 on 2026-02-09',
      'blinking-members S7':
        'it was last in the list on 2026-02-03, not from 2026-02-04, and again from 2026-02-09',
      'failing-streams':
        'bulk-block-deals fails since 2026-02-11, on 3 days until 2026-02-13; the last success was on 2026-02-10; the newest reason: the provider answers 404',
    })
    expect(details['unchanged-lists']).toContain(
      'the same on 4 recorded sessions, from 2026-02-10 to 2026-02-13',
    )
  })

  it('name a damaged day as a finding, and the others are compared without it', async () => {
    const root = await collectTenDays()
    const file = join('.scripstream', 'history', '2026-02-03', '20260203T150000Z', 'record.json')
    writeFileSync(join(root, file), 'x')
    const { findings, history } = await verified(root)
    expect(history.days).toBe(8)
    expect(findings.filter(({ check }) => check === 'files')).toMatchObject([
      { severity: 'error', file, day: DAYS[1] },
    ])
    expect(findings.map(toGist)).toContain(`restated-figures warning S3 ${DAYS[5]} fundamental_data.json`)
  })
})
