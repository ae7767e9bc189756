import { firstValueFrom, from, throwError, toArray } from 'rxjs'
import { expect, it } from 'vitest'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import { guardRealVsSimulated } from '../../src/cli/run/source.js'
import { UsageError } from '../../src/model/errors.js'
import type { RunEvent } from '../../src/model/event.js'

const event$ = from<RunEvent[]>([
  { type: 'run-started', at: 0, run: 'r', asOf: 0, streams: [] },
  { type: 'item-finished', stream: 'master-data', item: 'all', status: 'success' },
  { type: 'master-read', stocks: 1 },
])

const ALL = ['run-started', 'item-finished', 'master-read']

/** A folder after runs of the given kinds, each with stored data. */
const folderAfter = async (...runs: readonly boolean[]) => {
  const files = new Map() as MemoryFiles
  const storage = memory(files)
  for (const isSimulated of runs) {
    await firstValueFrom(
      event$.pipe(guardRealVsSimulated(storage, { out: './data', isSimulated }), toArray()),
    )
    files.set('master_isin_map.json', { text: '[]', asOf: 0 })
  }
  return storage
}

const runIn = async (
  storage: Awaited<ReturnType<typeof folderAfter>>,
  isSimulated: boolean,
): Promise<unknown> =>
  firstValueFrom(event$.pipe(guardRealVsSimulated(storage, { out: './data', isSimulated }), toArray())).then(
    (events) => events.map(({ type }) => type),
    (error: unknown) => error,
  )

it('allows simulated and real runs in an empty folder', async () => {
  for (const isSimulated of [true, false]) expect(await runIn(await folderAfter(), isSimulated)).toEqual(ALL)
})

it('allows further runs of the same kind', async () => {
  expect(await runIn(await folderAfter(true), true)).toEqual(ALL)
  expect(await runIn(await folderAfter(false), false)).toEqual(ALL)
})

it('refuses a real run on simulated data, and the other way round', async () => {
  expect(await runIn(await folderAfter(true), false)).toEqual(expect.any(UsageError))
  expect(await runIn(await folderAfter(false), true)).toMatchObject({
    message: expect.stringContaining('must not overwrite'),
  })
})

it('treats data without a record as real', async () => {
  const storage = memory(new Map([['master_isin_map.json', { text: '[]', asOf: 0 }]]))
  expect(await runIn(storage, true)).toEqual(expect.any(UsageError))
  expect(await runIn(storage, false)).toEqual(ALL)
})

it('records nothing for a run that does not start', async () => {
  const files = new Map() as MemoryFiles
  const refused$ = throwError(() => new UsageError('not set'))
  await expect(
    firstValueFrom(refused$.pipe(guardRealVsSimulated(memory(files), { out: './data', isSimulated: false }))),
  ).rejects.toThrow('not set')
  expect(files.size).toBe(0)
})

it('recognizes simulated data without a master list', async () => {
  const storage = memory(new Map([['.scripstream/source.json', { text: '{"simulated":true}' }]]))
  expect(await runIn(storage, false)).toEqual(expect.any(UsageError))
  expect(await runIn(storage, true)).toEqual(ALL)
})

it('records nothing for a run that stores nothing', async () => {
  const files: MemoryFiles = new Map()
  const lost$ = from<RunEvent[]>([
    { type: 'item-finished', stream: 'master-data', item: 'all', status: 'error', reason: 'it failed' },
  ])
  await firstValueFrom(lost$.pipe(guardRealVsSimulated(memory(files), { out: './data', isSimulated: false })))
  expect(files.size).toBe(0)
})
