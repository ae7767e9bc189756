import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { audit } from '../../src/show/audit.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { collectTenDays, DAYS, MISSED, RECORDED, recordIndex, storeDay } from '../tables/history/ten-days.js'
import { duckdb } from '../tables/support.js'

describe.runIf(duckdb)('what a back-test costs', () => {
  it('is counted over ten days with known truth, with examples', async () => {
    const { from, to, days, parts } = await audit(await collectTenDays(), { streams, exchange: 'NSE' })
    expect([from, to, days]).toEqual([DAYS[0], DAYS.at(-1), RECORDED.length])
    expect(
      Object.fromEntries(parts.map(({ name, count, of, examples }) => [name, [count, of, ...examples]])),
    ).toMatchObject({
      'days without record': [1, 10, DAYS[MISSED]],
      'dead names': [1, 31, `S8 until ${DAYS[6]}, without candles`],
      'rewritten prices': [1, 0, `S10 on ${DAYS[6]}: a split of 10:1`],
      'restated quarters': [2, 61, expect.stringContaining('S3'), expect.stringContaining('S4')],
      'back-filled rows': [0, 0],
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
    const { parts } = await audit(root, { streams, exchange: 'NSE' })
    const part = parts.find(({ name }) => name === 'back-filled rows')
    expect(part).toMatchObject({
      count: 1,
      of: 2,
      examples: [`S1: announcement of ${DAYS[0]}, first seen on ${DAYS[2]}`],
    })
  })

  it('is an error without a recorded day', async () =>
    expect(audit(temporaryFolder(), { streams, exchange: 'NSE' })).rejects.toThrow(
      /no day is recorded in .*, so nothing shows what was known when/,
    ))
})
