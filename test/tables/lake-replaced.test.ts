import { copyFileSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { disk } from '../../src/storage/disk.js'
import { openDuckDb } from '../../src/storage/duckdb.js'
import { collected, duckdb, objectsOf } from './support.js'

/** DuckDB reads so many rows with several threads, each of which opens the file. */
const ROWS = 300_000
const REPLACEMENTS = 200

describe.skipIf(!duckdb)('a file of the lake that another process replaces while it is read', () => {
  let [out, remove] = ['', (): void => undefined]
  beforeAll(async () => {
    ;({ out, remove } = await collected(5, 300))
    await objectsOf('select count(*) from candles', out, 0)
    file = join(out, 'lake/candles/candles.parquet')
    const { connection, close } = await openDuckDb()
    const [[key]] = (
      await connection.runAndReadAll(
        `SELECT decode(value) FROM parquet_kv_metadata('${file}') WHERE decode(key) = 'scripstream'`,
      )
    ).getRows() as [[string]]
    for (const volume of [1, 2])
      await connection.run(
        `COPY (SELECT c.* REPLACE (${volume} AS volume, random() AS high) FROM (FROM read_parquet('${file}') LIMIT 1) AS c, range(${ROWS})) TO '${join(out, `version-${volume}`)}' (FORMAT parquet, KV_METADATA {scripstream: '${key}'})`,
      )
    close()
    replace()
  })
  afterAll(() => remove())

  let file = ''
  let replaced = 0
  const replace = (): void => {
    replaced += 1
    copyFileSync(join(out, `version-${1 + (replaced % 2)}`), join(out, 'next'))
    renameSync(join(out, 'next'), file)
  }
  const read = async () =>
    (
      await objectsOf(
        'select min(volume) as low, max(volume) as high, count(high) as n from candles where high < 2',
        out,
        1,
      )
    )[0]

  it('is read as it was when the statement began', async () => {
    const link = disk.linkSync
    const linked = vi.spyOn(disk, 'linkSync').mockImplementation((from, to) => {
      link(from, to)
      replace()
    })
    const [first, second] = [await read(), await read()]
    linked.mockRestore()
    expect([first?.low, first?.high, second?.low, second?.high]).toEqual([2, 2, 1, 1])
    expect(readdirSync(join(out, 'lake/.reading'))).toEqual([])
  })

  it(`is read as it was or as it is, ${REPLACEMENTS} times`, async () => {
    const seen = new Set<string>()
    while (replaced < REPLACEMENTS) {
      const reading = read()
      // The time between a read and the next replacement differs each time.
      const replacing = setInterval(replace, 1 + (replaced % 17))
      seen.add(JSON.stringify(await reading))
      clearInterval(replacing)
    }
    expect([...seen].sort()).toEqual(
      [1, 2].map((volume) => JSON.stringify({ low: volume, high: volume, n: ROWS })),
    )
    expect(readdirSync(join(out, 'lake/.reading'))).toEqual([])
  })
})
