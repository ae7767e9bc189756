import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { addDays } from '../../../src/model/trading-day.js'
import { temporaryFolder } from '../../support/folders.js'
import { recordRun, tablesOf } from '../../support/recorded-run.js'
import { duckdb } from '../support.js'
import { askAsOf, openPlain } from './known-answers.js'

const FILES = ['master_isin_map.json', 'nse_asm_list.json'] as const

/** A list of some of 12 stocks in any order, with a value each; equal rows may be there twice. */
const list = fc.array(fc.record({ stock: fc.nat(11), value: fc.nat(3) }), { maxLength: 14 })

/**
 * What happens on each weekday: nothing, or one or two runs that find lists. Many stand still, so that most
 * days are recorded as changes.
 */
const days = fc.array(
  fc.oneof(
    { weight: 1, arbitrary: fc.constant([]) },
    {
      weight: 4,
      arbitrary: fc.array(fc.tuple(fc.constantFrom('11:00', '19:30', '21:00'), list, fc.nat(3)), {
        minLength: 1,
        maxLength: 2,
      }),
    },
  ),
  { minLength: 2, maxLength: 6 },
)

const toRows = (
  rows: readonly { readonly stock: number; readonly value: number }[],
  changed: number,
): string =>
  JSON.stringify(
    Array.from({ length: 20 }, (_, rank) => ({
      Symbol: `F${rank}`,
      ISIN: `F${rank}`,
      Stage: rank < changed ? 'other' : 'same',
    })).concat(
      rows.map(({ stock, value }) => ({ Symbol: `S${stock}`, ISIN: `I${stock}`, Stage: `${value}` })),
    ),
  )

it.runIf(duckdb)(
  'all days of a list are those that a query as of each day finds, in DuckDB too',
  async () => {
    await fc.assert(
      fc.asyncProperty(days, async (runs) => {
        const root = temporaryFolder()
        const used: string[] = []
        for (const [index, ofDay] of runs.entries()) {
          const day = addDays('2026-03-26', index + (index > 1 ? 2 : 0))
          for (const [time, rows, changed] of [...ofDay].sort(([one], [other]) => (one < other ? -1 : 1))) {
            for (const file of FILES) writeFileSync(join(root, file), toRows(rows, changed))
            await recordRun(root, { day, time, request: { tables: tablesOf(...FILES) } })
            used.push(day)
          }
        }
        if (used.length === 0) return
        const plain = await openPlain(root)
        for (const table of ['master', 'surveillance']) {
          const all = (await askAsOf(`select * exclude (known_at) from history.${table} order by all`, root))
            .rows
          const union: (readonly string[])[] = []
          for (const day of new Set(used))
            union.push(
              ...(await askAsOf(`select date '${day}' as day, * from ${table} order by all`, root, day)).rows,
            )
          expect(all).toEqual(union)
          const columns = table === 'master' ? 'symbol, isin' : 'symbol, isin, stage'
          const sql = `select day, ${columns} from history.${table} order by all`
          expect(await plain.ask(sql)).toEqual((await askAsOf(sql, root)).rows)
        }
        plain.close()
      }),
      { numRuns: 12 },
    )
  },
)
