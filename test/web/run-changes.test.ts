import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { toRunLogEntry } from '../../src/model/run-log.js'
import { toInstant } from '../../src/model/trading-day.js'
import { runReport } from '../cli/support.js'
import { stock } from '../show/support.js'
import { temporaryFolder } from '../support/folders.js'
import { recordRun, tablesOf } from '../support/recorded-run.js'
import { send, startServer } from './support.js'

const MASTER = 'master_isin_map.json'

const BANDS = 'complete_price_bands.json'
const DEALS = 'bulk_block_deals.json'

it('compares the day of an earlier run with the recorded day before it, and says what it cannot compare and why', async () => {
  const out = temporaryFolder()
  const runs = [
    ['r1', '2026-02-11', ['A', 'B']],
    ['r2', '2026-02-12', ['A', 'C']],
    ['r3', '2026-02-12', ['A', 'B']],
    ['r4', '2026-02-13', ['A', 'C']],
  ] as const
  const lines: string[] = []
  for (const [run, day, symbols] of runs) {
    const at = `${day}T14:30:00.000Z`
    const report = runReport({ run, asOf: at, startedAt: at, finishedAt: at, scripts: {} })
    const list = symbols.map((symbol) => stock(symbol, `INE${symbol.repeat(9)}`))
    writeFileSync(join(out, MASTER), JSON.stringify(list))
    if (run === 'r3') writeFileSync(join(out, BANDS), '[]')
    lines.push(`${JSON.stringify(toRunLogEntry(report, {}))}\n`)
    await recordRun(out, {
      run,
      day,
      time: '20:00',
      request: { tables: tablesOf(MASTER, ...(run === 'r3' ? [BANDS] : [])) },
    })
  }
  const failed = runReport({ run: 'failed', outcome: 'failed', asOf: '2026-02-14T14:30:00.000Z' })
  writeFileSync(
    join(out, '.scripstream/runs.ndjson'),
    [...lines, JSON.stringify(toRunLogEntry(failed, {}))].join(''),
  )
  // What `run` saves for `diff`: the bands that no recorded day has.
  const previous = join(out, '.scripstream/previous')
  mkdirSync(previous)
  writeFileSync(join(previous, 'note.json'), JSON.stringify({ run: 'r3', outputs: [MASTER, BANDS, DEALS] }))
  copyFileSync(join(out, MASTER), join(previous, MASTER))
  writeFileSync(join(out, DEALS), '[]')
  writeFileSync(join(previous, BANDS), JSON.stringify([{ Symbol: 'A', Band: '5' }]))
  writeFileSync(join(out, BANDS), JSON.stringify([{ Symbol: 'A', Band: '10' }]))
  const { origin } = await startServer(out)
  const ask = async (run: string) =>
    JSON.parse((await send(origin, `/api/runs/${run}/changes`)).body) as unknown
  expect(await ask('r2')).toMatchObject({
    since: { asOf: '2026-02-10T18:30:00.000Z' },
    sections: [{ section: 'listings', count: 2 }],
    stocks: [
      { symbol: 'B', hasNoPage: true },
      { symbol: 'C', changes: [{ section: 'listings' }] },
    ],
    notes: [
      `${BANDS} was not compared: neither 2026-02-11 nor an earlier day has a record of it`,
      expect.stringMatching(/^results, filings, .* are not compared here/),
    ],
  })
  expect(await ask('r3')).toMatchObject({
    since: null,
    reason: 'the record of its day is that of another run',
  })
  expect(await ask('r1')).toMatchObject({ since: null, reason: 'no day before it is recorded' })
  expect(await ask('failed')).toMatchObject({ since: null, reason: 'it failed, and has written no files' })
  const last = JSON.parse((await send(origin, '/api/changes')).body) as unknown
  expect(last).toMatchObject({
    sections: [{ section: 'bands', count: 1 }],
    notes: [`there was no ${DEALS} before to compare with`],
  })
  expect(await ask('r4')).toEqual(last)
  // Of two records of a day the first one answers: its run is the one with changes.
  expect(JSON.parse((await send(origin, '/api/days')).body)).toEqual([
    { day: '2026-02-13', run: 'r4', knownAt: '2026-02-13T14:30:00.000Z', timing: 'final' },
    { day: '2026-02-12', run: 'r2', knownAt: '2026-02-12T14:30:00.000Z', timing: 'final' },
    { day: '2026-02-11', run: 'r1', knownAt: '2026-02-11T14:30:00.000Z', timing: 'final' },
  ])
  expect(await ask('none')).toEqual({ error: 'no run none is recorded in this folder' })
})

it('compares the day of both runs of an evening, of which the second one has what was published late, and says what no run has', async () => {
  const out = temporaryFolder()
  const runs = [
    ['r0', '2026-02-11', '20:30', '5'],
    ['r1', '2026-02-12', '18:30', '5'],
    ['r2', '2026-02-12', '20:30', '10'],
    ['r3', '2026-02-13', '18:30', '10'],
  ] as const
  const lines: string[] = []
  writeFileSync(join(out, MASTER), JSON.stringify([stock('A', 'INEAAAAAAAAA')]))
  for (const [run, day, time, Band] of runs) {
    const at = new Date(toInstant(day, time)).toISOString()
    lines.push(
      `${JSON.stringify(toRunLogEntry(runReport({ run, asOf: at, startedAt: at, finishedAt: at, scripts: {} }), {}))}\n`,
    )
    writeFileSync(join(out, BANDS), JSON.stringify([{ Symbol: 'A', Band }]))
    await recordRun(out, { run, day, time, request: { tables: tablesOf(MASTER, BANDS) } })
  }
  writeFileSync(join(out, '.scripstream/runs.ndjson'), lines.join(''))
  const { origin } = await startServer(out)
  const ask = async (path: string) => JSON.parse((await send(origin, path)).body) as unknown
  for (const run of ['r1', 'r2'])
    expect(await ask(`/api/runs/${run}/changes`), run).toMatchObject({
      sections: [{ section: 'bands', count: 1 }],
    })
  expect(await ask('/api/days')).toEqual([
    {
      day: '2026-02-13',
      run: 'r3',
      knownAt: '2026-02-13T13:00:00.000Z',
      timing: 'final',
      early: ['bands of 2026-02-13 were collected before they were published (20:00)'],
    },
    { day: '2026-02-12', run: 'r1', knownAt: '2026-02-12T15:00:00.000Z', timing: 'final' },
    { day: '2026-02-11', run: 'r0', knownAt: '2026-02-11T15:00:00.000Z', timing: 'final' },
  ])
})
