import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { toRunLogEntry } from '../../src/model/run-log.js'
import { recordDay } from '../../src/storage/history/record-day.js'
import { runReport } from '../cli/support.js'
import { temporaryFolder } from '../support/folders.js'
import { stock } from './data/support.js'
import { send, startServer } from './support.js'

const MASTER = 'master_isin_map.json'

it('compares the day of a run with the recorded day before it, and says why it cannot', async () => {
  const out = temporaryFolder()
  const runs = [
    ['r1', '2026-02-11', ['A', 'B']],
    ['r2', '2026-02-12', ['A', 'B']],
    ['r3', '2026-02-12', ['A', 'C']],
  ] as const
  const lines: string[] = []
  for (const [run, day, symbols] of runs) {
    const at = `${day}T14:30:00.000Z`
    const report = runReport({ run, asOf: at, startedAt: at, finishedAt: at, scripts: {} })
    const list = symbols.map((symbol) => stock(symbol, `INE${symbol.repeat(9)}`))
    writeFileSync(join(out, MASTER), JSON.stringify(list))
    lines.push(`${JSON.stringify(toRunLogEntry(report, {}))}\n`)
    const history = { files: [{ stream: 'master-data', file: MASTER, isPerItem: false }], documents: [] }
    const scripts = { 'master-data': { outcome: 'success' } } as never
    const record = { run, asOf: Date.parse(at), configuration: 'c', chosen: {} }
    expect(await recordDay(out, { history, record, report: { ...report, scripts }, isPartOfEnded: false })).toBeUndefined()
  }
  writeFileSync(join(out, '.scripstream/runs.ndjson'), lines.join(''))
  const { origin } = await startServer(out)
  const ask = async (run: string) => JSON.parse((await send(origin, `/api/runs/${run}/changes`)).body) as unknown
  expect(await ask('r3')).toMatchObject({
    since: '2026-02-11',
    sections: [{ section: 'listings', count: 2 }],
    listings: [{ symbol: 'C' }, { symbol: 'B' }],
  })
  expect(await ask('r2')).toMatchObject({ since: null, reason: 'a later run has replaced the record of this day' })
  expect(await ask('r1')).toMatchObject({ since: null, reason: 'no day before it is recorded' })
  expect(await ask('none')).toEqual({ error: 'no run none is recorded in this folder' })
})
