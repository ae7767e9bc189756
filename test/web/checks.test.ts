import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, vi } from 'vitest'
import { UsageError } from '../../src/model/errors.js'
import { toRunLogEntry } from '../../src/model/run-log.js'
import { readRunRecords } from '../../src/storage/run-records.js'
import type { TrackedFinding } from '../../src/verify/finding.js'
import { type RecordedChecks, readAcceptedStamp } from '../../src/verify/recorded-checks.js'
import type { RunChecks } from '../../src/web/api/runs.js'
import type { FolderState } from '../../src/web/api/state.js'
import { createChecks, summarizeChecks } from '../../src/web/server/checks.js'
import type { PageServerOptions } from '../../src/web/server/serve.js'
import { streams } from '../../streams/registry.js'
import { runReport } from '../cli/support.js'
import { stock } from '../show/support.js'
import { until } from '../support/until.js'
import { folderWith } from '../tables/support.js'
import { followLive, send, started, startServer } from './support.js'

const move = (symbol: string, day: string): TrackedFinding => ({
  state: 'open',
  check: 'large-moves',
  severity: 'warning',
  symbol,
  day,
  detail: `moved on ${day}`,
})
const broken: TrackedFinding = {
  check: 'files',
  severity: 'error',
  state: 'new',
  file: 'a.json',
  detail: 'it is not valid JSON',
}

const checksOf = (
  run: string,
  findings: readonly TrackedFinding[],
  changes: Partial<RecordedChecks> = {},
): RecordedChecks => ({
  run,
  checkedAt: '2026-02-12T14:40:00.000Z',
  stocks: 2,
  files: 9,
  findings,
  accepted: 0,
  notes: [],
  acceptedStamp: 0,
  ...changes,
})

/** Runs of three days, of which the last one failed; `kept` are the checks that were kept of some. */
const folderOf = (...kept: readonly RecordedChecks[]): string => {
  const log = (run: string, day: string, changes: object = {}): string =>
    `${JSON.stringify(toRunLogEntry(runReport({ run, asOf: `${day}T14:30:00.000Z`, ...changes }), {}))}\n`
  const out = folderWith({
    'master_isin_map.json': [stock('A'), stock('B', 'INE000000002')],
    '.scripstream/report.json': runReport({ run: 'r2', asOf: '2026-02-12T14:30:00.000Z' }),
    '.scripstream/runs.ndjson': `${log('r1', '2026-02-11')}${log('r2', '2026-02-12')}${log('r3', '2026-02-13', { outcome: 'failed' })}`,
    '.scripstream/cache/checks/x': '',
  })
  for (const checks of kept)
    writeFileSync(
      join(out, `.scripstream/cache/checks/${checks.run}.json.gz`),
      gzipSync(JSON.stringify(checks)),
    )
  return out
}

const serve = async (out: string, changes: Partial<PageServerOptions> = {}) => {
  const { origin } = await startServer(out, changes)
  const get = async <T>(path: string): Promise<T> => JSON.parse((await send(origin, path)).body) as T
  return {
    read: (run: string) => get<RunChecks>(`/api/runs/${run}/checks`),
    state: () => get<FolderState>('/api/state'),
  }
}

describe('the data checks of a run', () => {
  it('are made once of the files that are present, and again when findings were accepted', async () => {
    const out = folderOf()
    const check = vi.fn(async () =>
      checksOf('r2', [broken, move('A', '2026-02-12')], { acceptedStamp: readAcceptedStamp(out) }),
    )
    const { read, state } = await serve(out, { check })
    expect((await state()).checks).toMatchObject({ run: 'r2', text: 'not made yet; open them to start' })
    expect(check).toHaveBeenCalledTimes(0)
    const one = await read('r2')
    expect(one).toMatchObject({
      tone: 'failed',
      text: '1 new finding, 1 error; 2 in all',
      checkedAt: '2026-02-12T14:40:00.000Z',
    })
    expect(one.kinds).toMatchObject([
      { check: 'files', count: 1, findings: [{ subject: 'a.json', hasPage: false, isNew: true }] },
      { check: 'large-moves', findings: [{ subject: 'A', hasPage: true, detail: 'moved on 2026-02-12' }] },
    ])
    expect(one.notes).toEqual([])
    await read('r2')
    expect(check).toHaveBeenCalledTimes(1)
    writeFileSync(join(out, '.scripstream/accepted-findings.json'), '[]')
    await read('r2')
    expect(check).toHaveBeenCalledTimes(2)
  })

  it('are made again when the run was resumed, which keeps its name', async () => {
    const out = folderOf(checksOf('r2', [broken]))
    const { read } = await serve(out, {
      check: async () => checksOf('r2', [], { checkedAt: '2026-02-12T16:00:00.000Z' }),
    })
    expect((await read('r2')).text).toMatch(/^1 new finding/)
    const resumed = runReport({
      run: 'r2',
      asOf: '2026-02-12T14:30:00.000Z',
      finishedAt: '2026-02-12T15:00:00.000Z',
    })
    appendFileSync(join(out, '.scripstream/runs.ndjson'), `${JSON.stringify(toRunLogEntry(resumed, {}))}\n`)
    expect(await read('r2')).toMatchObject({
      text: 'No findings in 9 files of 2 stocks',
      checkedAt: '2026-02-12T16:00:00.000Z',
    })
  })

  it('are made once for readers who ask at the same time', async () => {
    const out = folderOf()
    const isActive = vi.fn(() => false)
    const check = vi.fn(async () => {
      // The last thing that a reader asks before it waits.
      await until('two readers that wait', () => isActive.mock.calls.length === 2)
      return checksOf('r2', [broken])
    })
    const checks = createChecks({ out, live: { isActive } }, check)
    const { runs } = await readRunRecords(out)
    const [one, other] = await Promise.all([checks.read(runs, 'r2'), checks.read(runs, 'r2')])
    expect(one).toEqual(other)
    expect(check).toHaveBeenCalledTimes(1)
  })

  it('that were kept are shown without a check, what is new first', async () => {
    const open = ['2026-02-01', '2026-02-02', '2026-02-03', '2026-02-04'].map((day) => move('A', day))
    const findings = [...open, { ...move('A', '2026-02-12'), state: 'new' as const }]
    const out = folderOf(checksOf('r2', findings, { accepted: 3, notes: ['no bands'] }))
    const { read, state } = await serve(out)
    const text = '1 new finding; 5 in all (3 accepted earlier)'
    expect((await state()).checks).toMatchObject({ tone: 'waiting', text })
    const { kinds, notes } = await read('r2')
    expect(kinds).toMatchObject([
      {
        count: 2,
        findings: [
          { isNew: true, detail: 'moved on 2026-02-12' },
          { isNew: false, detail: 'moved on 2026-02-04, and 3 more since 2026-02-01' },
        ],
      },
    ])
    expect(notes).toEqual(['not checked: no bands'])
  })

  it('count first what is new of watched stocks or of the market', () => {
    const fresh = (symbol: string) => ({ ...move(symbol, '2026-02-12'), state: 'new' as const })
    const checks = checksOf('r2', [fresh('A'), fresh('B'), fresh('C')])
    const text = (...watched: readonly string[]) => summarizeChecks(checks, new Set(watched)).text
    expect([text(), text('A'), text('D')]).toEqual([
      '3 new findings; 3 in all',
      '1 new finding; 3 in all',
      'Nothing new; 3 in all',
    ])
  })

  it('of an earlier run are those that were kept, or what was recorded of it, with a way to those of the present files', async () => {
    const { read } = await serve(folderOf())
    expect(await read('r1')).toMatchObject({
      tone: 'soft',
      text: 'Its data was not checked.',
      present: 'r2',
      kinds: [],
      notes: [
        'the run of 2026-02-12 has replaced files since',
        expect.stringMatching(/^recorded of this run: \d+ failed items, /),
      ],
    })
    expect(await read('r3')).toMatchObject({
      present: 'r2',
      text: 'This run failed and has written no files.',
      notes: [],
    })
    const kept = await serve(folderOf(checksOf('r1', [])))
    expect(await kept.read('r1')).toMatchObject({
      tone: 'ok',
      text: 'No findings in 9 files of 2 stocks',
      present: 'r2',
      notes: ['the run of 2026-02-12 has replaced files since'],
    })
  })

  it('are not made while a run is active, and say why they could not be made', async () => {
    const live = followLive(streams)
    live.event(started([], { streams: [] }))
    const check = vi.fn(async () => checksOf('r2', []))
    const active = await serve(folderOf(), { check, live: () => live.state(2_000) })
    expect((await active.read('r2')).text).toBe('A run is active. Its files are checked after it.')
    expect(check).toHaveBeenCalledTimes(0)
    const began = await serve(folderOf(), { check: async () => undefined })
    expect((await began.read('r2')).text).toMatch(/^A run began during the checks/)
    const failing = await serve(folderOf(), {
      check: () => Promise.reject(new UsageError('memory may have run out')),
    })
    expect(await failing.read('r2')).toMatchObject({
      tone: 'failed',
      text: 'The data could not be checked: memory may have run out.',
    })
  })
})
