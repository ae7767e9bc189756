import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EMPTY } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineStream, once, type StreamDefinition } from '../../../src/engine/define-stream.js'
import { listRecordedTables } from '../../../src/engine/session-request.js'
import { UsageError } from '../../../src/model/errors.js'
import { column, row, textColumn } from '../../../src/model/row-schema.js'
import { diff } from '../../../src/tables/changes/diff.js'
import { streams } from '../../../streams/registry.js'
import { filesIn, temporaryFolder } from '../../support/folders.js'
import { recordRun, tablesOf } from '../../support/recorded-run.js'

const stock = (rank: number, name = `S${rank}`) => ({
  Symbol: name,
  ISIN: `INE00000000${rank}`,
  Name: `Company ${rank}`,
})

const store = (root: string, stocks: readonly object[], stage: string): void => {
  writeFileSync(join(root, 'master_isin_map.json'), JSON.stringify(stocks))
  writeFileSync(join(root, 'nse_asm_list.json'), JSON.stringify([{ ...stock(1), Stage: stage }]))
}

/**
 * Days on which stock 2 leaves and returns, stock 3 leaves, stock 4 is renamed, and 5 is new; the stage of
 * stock 1 changes each day.
 */
const LISTS: Readonly<Record<string, readonly object[]>> = {
  '2026-02-02': [stock(1), stock(2), stock(3), stock(4)],
  '2026-02-03': [stock(1), stock(3), stock(4)],
  '2026-02-04': [stock(1), stock(4, 'S4NEW'), stock(5)],
  '2026-02-05': [stock(1), stock(2), stock(4, 'S4NEW'), stock(5)],
}

const generate = async (): Promise<string> => {
  const root = temporaryFolder()
  for (const [day, stocks] of Object.entries(LISTS)) {
    store(root, stocks, day)
    await recordRun(root, { day })
  }
  return root
}

/** Pledged shares of stocks, a list of an app, with the words of its changes. */
const pledges: StreamDefinition = defineStream({
  name: 'pledges',
  summary: 'pledged shares',
  phase: 'enrichment',
  workers: 1,
  timeoutMs: 1_000,
  endpoints: [],
  work: once(() => EMPTY),
  outputs: [
    {
      shape: 'array-per-item',
      file: 'pledges.json',
      tables: [
        {
          name: 'pledges',
          about: 'pledged shares',
          columns: [
            row({
              sym: textColumn('trading symbol', 'symbol'),
              percent: column(z.number(), { about: 'of all shares', sql: 'percent' }),
              price: column(z.number(), { about: 'rupees', sql: 'price' }),
            }),
          ],
          changes: {
            section: 'deals',
            key: ['sym'],
            columns: ['percent'],
            entered: ({ percent }) => [{ change: 'entered', detail: `pledges ${percent} %` }],
            changed: ({ percent }, { earlier }) => [
              { change: 'changed', detail: `${percent} % after ${earlier.percent} %` },
            ],
            left: ({ percent }) => [{ change: 'left', detail: `no longer pledges ${percent} %` }],
          },
        },
      ],
    },
  ],
})

const changesOf = async (root: string, since: string, until?: string) =>
  (await diff(root, { exchange: 'NSE', streams, since, until })).changes.map(({ change, symbol, day }) => [
    change,
    symbol,
    ...(day === undefined ? [] : [day]),
  ])

describe('the difference between recorded days', () => {
  it('leaves out a damaged day between them, and names its file', async () => {
    const root = await generate()
    truncateSync(join(root, '.scripstream', 'history', '2026-02-03', '20260203T140000Z', 'record.json'), 100)
    const { notes, changes } = await diff(root, {
      exchange: 'NSE',
      streams,
      since: '2026-02-02',
      until: '2026-02-04',
    })
    expect(changes.map(({ symbol }) => symbol)).toContain('S5')
    expect(
      notes.filter((note) =>
        note.includes('2026-02-03/20260203T140000Z/record.json cannot be read: its digest is wrong'),
      ),
    ).toHaveLength(1)
    await expect(changesOf(root, '2026-02-03')).rejects.toThrow(
      'record.json cannot be read: its digest is wrong',
    )
  })

  it('has what changed between two days, and from which day on a stock is listed, has left or is renamed', async () => {
    const root = await generate()
    expect(await changesOf(root, '2026-02-02', '2026-02-04')).toEqual([
      ['new', 'S5', '2026-02-04'],
      ['left', 'S2', '2026-02-03'],
      ['left', 'S3', '2026-02-04'],
      ['renamed', 'S4NEW', '2026-02-04'],
      ['changed', 'S1'],
    ])
    expect(await changesOf(root, '2026-02-03', '2026-02-05')).toContainEqual(['back', 'S2', '2026-02-05'])
    expect(await changesOf(root, '2026-02-03', '2026-02-04')).toEqual([
      ['new', 'S5', '2026-02-04'],
      ['left', 'S3', '2026-02-04'],
      ['renamed', 'S4NEW', '2026-02-04'],
      ['changed', 'S1'],
    ])
  })

  it('compares a day with the present, from the newest record until that day', async () => {
    const root = await generate()
    store(root, LISTS['2026-02-05'] ?? [], 'now')
    const difference = await diff(root, { exchange: 'NSE', streams, since: '2026-02-07' })
    expect(difference).toMatchObject({
      since: { day: '2026-02-05' },
      counts: { surveillance: 1, listings: 0 },
    })
    expect(difference.changes).toMatchObject([{ from: '2026-02-05', to: 'now' }])
  })

  it('says which lists have no record of one of the days', async () => {
    const root = temporaryFolder()
    const [bands, asm, upper, deals] = [
      'complete_price_bands.json',
      'nse_asm_list.json',
      'upper_circuit_stocks.json',
      'bulk_block_deals.json',
    ] as const
    const days = {
      '2026-02-02': [asm, upper],
      '2026-02-03': [asm],
      '2026-02-04': [asm, bands],
      '2026-02-05': [upper, bands, deals],
    }
    for (const [day, lists] of Object.entries(days)) {
      for (const file of ['master_isin_map.json', ...lists]) writeFileSync(join(root, file), '[]')
      await recordRun(root, { day, request: { tables: tablesOf('master_isin_map.json', ...lists) } })
    }
    const { notes } = await diff(root, {
      exchange: 'NSE',
      streams,
      since: '2026-02-03',
      until: '2026-02-05',
    })
    const sameTable = ['nse_gsm_list.json', 'lower_circuit_stocks.json'] as const
    expect(notes).toEqual([
      'only the two ends are compared: what came and went in between is not listed (1 recorded day)',
      `${asm} was compared up to its record of 2026-02-04: 2026-02-05 has none`,
      `${sameTable[0]} was compared up to its record of 2026-02-04: 2026-02-05 has none`,
      `${bands} was not compared: neither 2026-02-03 nor an earlier day has a record of it`,
      `${upper} was compared with its record of 2026-02-02: 2026-02-03 has none`,
      `${sameTable[1]} was compared with its record of 2026-02-02: 2026-02-03 has none`,
      `${deals} was not compared: neither 2026-02-03 nor an earlier day has a record of it`,
    ])
    expect(
      (await diff(root, { exchange: 'NSE', streams, since: '2026-02-02', until: '2026-02-04' })).notes,
    ).toContain(`${upper} was not compared: no day after 2026-02-02 and up to 2026-02-04 has a record of it`)
  })

  it('has the changes of a list of an app, by the rule beside its rows', async () => {
    const root = temporaryFolder()
    const all = [...streams, pledges]
    const days = {
      '2026-02-02': [stock(1), stock(2), stock(3)].map(({ Symbol: sym }) => ({ sym, percent: 5, price: 1 })),
      '2026-02-03': [
        { sym: 'S1', percent: 5, price: 2 },
        { sym: 'S2', percent: 7, price: 1 },
        { sym: 'S4NEW', percent: 1, price: 1 },
      ],
    }
    for (const [day, rows] of Object.entries(days)) {
      store(root, LISTS[day] ?? [], 'I')
      writeFileSync(join(root, 'pledges.json'), JSON.stringify(rows))
      await recordRun(root, {
        day,
        request: { tables: listRecordedTables(all, 'NSE') },
        scripts: { pledges: { outcome: 'success' } },
      })
    }
    const { changes } = await diff(root, {
      exchange: 'NSE',
      streams: all,
      since: '2026-02-02',
      only: ['deals'],
    })
    expect(changes).toEqual(
      [
        { change: 'changed', symbol: 'S2', detail: '7 % after 5 %' },
        { change: 'entered', symbol: 'S4NEW', detail: 'pledges 1 %' },
        { change: 'left', symbol: 'S3', detail: 'no longer pledges 5 %' },
      ].map((one) => ({ section: 'deals', ...one })),
    )
  })

  it('changes nothing in the folder', async () => {
    const root = await generate()
    const before = filesIn(root)
    await diff(root, { exchange: 'NSE', streams, since: '2026-02-02' })
    expect(filesIn(root)).toEqual(before)
  })

  it.each([
    ['2026-02-01', undefined, 'the history begins on 2026-02-02'],
    ['2026-02-04', '2026-02-03', 'the earlier day comes first'],
    ['2026-02-05', '2026-02-08', 'have the same record, that of 2026-02-05'],
  ])('refuses %s and %s', async (since, until, message) => {
    const root = await generate()
    await expect(diff(root, { exchange: 'NSE', streams, since, until })).rejects.toThrow(UsageError)
    await expect(diff(root, { exchange: 'NSE', streams, since, until })).rejects.toThrow(message)
  })
})
