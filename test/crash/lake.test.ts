import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openDuckDb } from '../../src/storage/duckdb.js'
import { runReport } from '../cli/support.js'
import { run } from '../e2e/command.js'
import { temporaryFolder } from '../support/folders.js'
import { folderWith, duckdb as isThere } from '../tables/support.js'
import { killedAfter, seeded } from './support.js'

/** The number of kills; set it with `npm run test:crash -- 200`. */
const KILLS = Number(process.env.KILLS ?? 4)
const SEED = Number(process.env.CRASH_SEED ?? 1)
const STOCKS = 40
const DAYS = 500

/** Replaces the candles: each of a state has its number as prices and volume. */
const store = (out: string, state: number): void => {
  const days = Array.from({ length: DAYS }, (_, day) => 1_700_000_000 + day * 86_400)
  const text = `Timestamp,Open,High,Low,Close,Volume\n${days.map((day) => `${[day, ...Array(5).fill(state)].join(',')}\n`).join('')}`
  for (let stock = 0; stock < STOCKS; stock++) {
    const path = join(out, 'ohlcv_data', `S${stock}.csv`)
    writeFileSync(`${path}.next`, text)
    renameSync(`${path}.next`, path)
  }
}

describe.skipIf(!isThere)(
  `a lake whose writer is killed ${KILLS} times with SIGKILL at random moments (seed ${SEED})`,
  () => {
    it('has the old or the new rows of each table, and a query has the new ones', async () => {
      const stocks = Array.from({ length: STOCKS }, (_, stock) => ({
        Symbol: `S${stock}`,
        ISIN: `INE${100_000_000 + stock}`,
        Name: 'x',
        Sid: '1',
      }))
      const out = folderWith({
        'master_isin_map.json': stocks,
        'ohlcv_data/S0.csv': '',
        '.scripstream/report.json': runReport(),
      })
      const [random, cwd] = [seeded(SEED), temporaryFolder()]
      const command = ['export', '--out', out]
      const { connection, close } = await openDuckDb()
      const read = async (table: string, column: string) => {
        const path = join(out, 'lake', table, `${table}.parquet`)
        if (!existsSync(path)) return undefined
        const sql = `SELECT count(*), min(${column}), max(${column}) FROM read_parquet('${path}')`
        return (await connection.runAndReadAll(sql)).getRows()[0]?.map(Number)
      }
      store(out, 1)
      const began = performance.now()
      expect((await run(command, { cwd, env: {} })).code).toBe(0)
      const wholeMs = performance.now() - began
      let states = [1]
      for (let kill = 0; kill < KILLS; kill++) {
        const state = kill + 2
        store(out, state)
        await killedAfter(wholeMs * (0.2 + random()), command, { cwd, env: {} })
        states = [...states, state]
        for (const table of ['candles', 'candles_adjusted']) {
          const [rows, low = 0, high] = (await read(table, 'close')) ?? []
          expect([rows, high], table).toEqual([STOCKS * DAYS, low])
          expect(states, table).toContain(low)
        }
        const { stdout } = await run(
          ['query', 'select min(close), max(close) from candles_adjusted', '--format', 'csv', '--out', out],
          {
            cwd,
            env: {},
          },
        )
        expect(stdout.trim().split('\n').at(-1)).toBe(`${state},${state}`)
      }
      close()
    })
  },
)
