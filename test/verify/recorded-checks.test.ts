import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { acquireLock } from '../../src/storage/lock.js'
import {
  listCheckedRuns,
  readAcceptedStamp,
  readRecordedChecks,
  verifyAndRecord,
} from '../../src/verify/recorded-checks.js'
import { streams } from '../../streams/registry.js'
import { runReport } from '../cli/support.js'
import { stock } from '../show/support.js'
import { folderWith } from '../tables/support.js'

const CANDLE = '1093372200,1,2,0.5,1.5,10\n'
const NOW = Date.parse('2026-02-12T14:40:00Z')

/** A folder with one stock, whose one candle is there twice. */
const folderOf = (run: string | undefined): string =>
  folderWith({
    'master_isin_map.json': [stock('A')],
    'ohlcv_data/A.csv': `Timestamp,Open,High,Low,Close,Volume\n${CANDLE}${CANDLE}`,
    ...(run === undefined ? {} : { '.scripstream/report.json': runReport({ run, scripts: {} }) }),
  })

const check = (out: string) => verifyAndRecord(out, { streams, exchange: 'NSE', limits: {} }, () => NOW)

describe('the record of the checks of a run', () => {
  it('has the findings, and replaces those of an earlier check of the same run', async () => {
    const out = folderOf('r1')
    const { checks } = await check(out)
    expect(checks).toMatchObject({ run: 'r1', checkedAt: '2026-02-12T14:40:00.000Z', stocks: 1, accepted: 0 })
    expect(checks?.findings).toMatchObject([{ check: 'duplicate-candles', symbol: 'A' }])
    expect(await readRecordedChecks(out, 'r1')).toEqual(checks)
    writeFileSync(join(out, 'ohlcv_data/A.csv'), `Timestamp,Open,High,Low,Close,Volume\n${CANDLE}`)
    await check(out)
    expect((await readRecordedChecks(out, 'r1'))?.findings).toEqual([])
  })

  it('is not kept without a run, while a run replaces the files, or under a name that leads elsewhere', async () => {
    expect((await check(folderOf(undefined))).checks).toBeUndefined()
    const active = folderOf('r1')
    const release = await acquireLock(join(active, '.scripstream/lock'), NOW)
    expect((await check(active)).checks).toBeUndefined()
    release()
    const hostile = folderOf('../../r1')
    expect((await check(hostile)).verification.findings).toHaveLength(1)
    for (const out of [active, hostile]) expect(await listCheckedRuns(out)).toEqual([])
    expect(await readRecordedChecks(hostile, '../../r1')).toBeUndefined()
  })

  it('is not kept if the run was resumed during the checks, and does not know what was accepted during them', async () => {
    const checkWhile = (out: string, act: () => void) => {
      const options = {
        streams,
        limits: {},
        // The checks read it once they have begun.
        get exchange() {
          act()
          return 'NSE'
        },
      }
      return verifyAndRecord(out, options, () => NOW)
    }
    const resumed = folderOf('r1')
    expect(
      (await checkWhile(resumed, () => utimesSync(join(resumed, '.scripstream/report.json'), 1, 1))).checks,
    ).toBeUndefined()
    const out = folderOf('r1')
    const { checks } = await checkWhile(out, () =>
      writeFileSync(join(out, '.scripstream/accepted-findings.json'), '[]'),
    )
    expect(readAcceptedStamp(out)).toBeGreaterThan(0)
    expect(checks?.acceptedStamp).toBe(0)
  })

  it('that is damaged counts as none; only the newest ones are kept', async () => {
    const out = folderOf('last')
    const folder = join(out, '.scripstream/cache/checks')
    mkdirSync(folder, { recursive: true })
    for (let index = 0; index < 80; index++) writeFileSync(join(folder, `r${index}.json.gz`), 'x')
    expect(await readRecordedChecks(out, 'r1')).toBeUndefined()
    await check(out)
    const runs = await listCheckedRuns(out)
    expect(runs).toHaveLength(60)
    expect(runs).toContain('last')
  })

  it('is left out where nothing can be written, and the checks are made all the same', async () => {
    const out = folderOf('r1')
    writeFileSync(join(out, '.scripstream/cache'), 'a file')
    expect((await check(out)).verification.findings).toHaveLength(1)
    expect(await readRecordedChecks(out, 'r1')).toBeUndefined()
  })
})
