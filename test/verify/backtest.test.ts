import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { runProgram } from '../../src/cli/program.js'
import { countBacktestGaps } from '../../src/verify/backtest.js'
import { verify } from '../../src/verify/verify.js'
import { streams } from '../../streams/registry.js'
import { createTestDependencies, createTestIo } from '../cli/support.js'
import { temporaryFolder } from '../support/folders.js'
import { collectTenDays, DAYS, MISSED, RECORDED, recordIndex, storeDay } from '../tables/history/ten-days.js'
import { duckdb } from '../tables/support.js'

const options = { streams, exchange: 'NSE' }

const backtest = async (root: string) => {
  const count = await countBacktestGaps(root, options)
  return count(await verify(root, { ...options, limits: {} }))
}

describe.runIf(duckdb)('what a back-test costs', () => {
  it('is counted over ten days with known truth, with examples; accepted findings count, too', async () => {
    const root = await collectTenDays()
    const { from, to, days, parts } = await backtest(root)
    expect([from, to, days]).toEqual([DAYS[0], DAYS.at(-1), RECORDED.length])
    expect(
      Object.fromEntries(parts.map(({ name, count, of, examples }) => [name, [count, of, ...examples]])),
    ).toMatchObject({
      'days without record': [1, 10, DAYS[MISSED]],
      'dead names': [1, 31, `S8 until ${DAYS[6]}, without candles`],
      'rewritten prices': [1, 0, `S10 on ${DAYS[6]}: a split of 10:1`],
      'restated quarters': [2, 61, expect.stringContaining('S4'), expect.stringContaining('S3')],
      'back-filled rows': [0, 0],
    })
    await verify(root, { ...options, limits: {}, accept: { on: '2026-02-13' } })
    expect((await backtest(root)).parts).toEqual(parts)
  })

  it('is a section of the report of "verify", and a part of its JSON', async () => {
    const out = await collectTenDays()
    const type = async (...args: readonly string[]) => {
      const io = createTestIo()
      const dependencies = createTestDependencies(undefined, { streams, storage: (own) => folder(own.out) })
      const code = await runProgram(['verify', '--out', out, ...args], io, dependencies)
      return { code, text: io.out.text(), err: io.err.text() }
    }
    const plain = await type('--json')
    const { backtest: found, ...rest } = JSON.parse((await type('--json', '--backtest')).text)
    expect(rest).toEqual(JSON.parse(plain.text))
    expect(found).toEqual(await backtest(out))
    const { code, text } = await type('--backtest')
    expect(code).toBe(plain.code)
    expect(text).toContain(
      [
        `Back-test: 9 recorded days, from ${DAYS[0]} to ${DAYS.at(-1)}`,
        '  days without record: 1 of 10',
        `    ${DAYS[MISSED]}`,
        '    can prove: lists and filings of 9 days are as they were collected',
      ].join('\n'),
    )
    expect(await type('--backtest', '--only', 'files')).toEqual({
      code: 2,
      text: '',
      err: expect.stringContaining('--backtest and --only exclude each other'),
    })
  })

  it('has rows that two runs did not have although they are dated before them', async () => {
    const root = temporaryFolder()
    mkdirSync(join(root, '.scripstream'))
    const announce = (index: number, events: string) => ({
      Symbol: 'S1',
      ISIN: 'INE000000001',
      events,
      date: `${DAYS[index]} 17:00:00`,
    })
    const [first, late] = [announce(0, 'known at once'), announce(0, 'told late')]
    const known = [[first], [first], [first, announce(1, 'known on the next day'), late], [first, late]]
    for (const [index, rows] of known.entries()) {
      storeDay(root, index)
      writeFileSync(
        join(root, 'all_company_announcements.json'),
        `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`,
      )
      await recordIndex(root, index)
    }
    const { parts } = await backtest(root)
    const part = parts.find(({ name }) => name === 'back-filled rows')
    expect(part).toMatchObject({
      count: 1,
      of: 2,
      examples: [`S1: announcement of ${DAYS[0]}, first seen on ${DAYS[2]}`],
    })
  })

  it('is an error without a recorded day', async () =>
    expect(backtest(temporaryFolder())).rejects.toThrow(
      /no day is recorded in .*, so nothing shows what was known when/,
    ))
})
