import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { from, lastValueFrom, toArray } from 'rxjs'
import { onTestFinished } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import type { Settled } from '../../src/model/outcome.js'
import { instantOf } from '../../src/model/trading-day.js'
import type { Output } from '../../src/pipeline/output.js'
import type { SinkContext, SinkReport, Storage } from '../../src/pipeline/storage.js'

export const NOW = instantOf('2026-02-12', '20:00')
export const isinOf = (rank: number): string => `INE${String(rank).padStart(9, '0')}`

/** What became of the item at a rank; its value is a stock. */
export const settled = (
  rank: number,
  rows: readonly unknown[],
  status: Settled['status'] = rows.length > 0 ? 'success' : 'empty',
): Settled => ({
  item: { key: `S${rank}`, rank, fileName: `S${rank}`, value: { Symbol: `S${rank}`, ISIN: isinOf(rank) } },
  status,
  rows,
  ...(['success', 'empty', 'skipped'].includes(status) ? {} : { reason: 'it failed' }),
})

export const contextOf = (listed = 0, asOf = NOW): SinkContext => ({
  exchange: 'NSE',
  asOf,
  wrote: () => undefined,
  listed: Array.from({ length: listed }, (_, rank) => settled(rank, []).item),
})

/** A folder of its own, gone when the test ends. */
export const temporaryFolder = (): string => {
  const path = mkdtempSync(join(tmpdir(), 'scripstream-sinks-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

export const filesIn = (path: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(path, { recursive: true, encoding: 'utf8' })
      .filter((name) => statSync(join(path, name)).isFile())
      .sort()
      .map((name) => [name, readFileSync(join(path, name), 'utf8')]),
  )

export interface Place {
  readonly name: string
  readonly storage: Storage
  readonly files: () => Readonly<Record<string, string>>
}

export const inMemory = (files: MemoryFiles = new Map()): Place => ({
  name: 'memory',
  storage: memory(files),
  files: () =>
    Object.fromEntries([...files].map(([file, { text }]) => [file, text] as const).sort(([one], [other]) => (one < other ? -1 : 1))),
})

export const inFolder = (path = temporaryFolder()): Place => ({ name: 'a folder', storage: folder(path), files: () => filesIn(path) })

/** Runs the sink of an output; fails unless it reports exactly once. */
export const sink = async (place: Place, output: Output, items: readonly Settled[], context = contextOf()): Promise<SinkReport> => {
  const [report, ...others] = await lastValueFrom(place.storage.open(output, context)(from(items)).pipe(toArray()))
  if (report === undefined || others.length > 0) throw new Error(`${others.length + 1} reports`)
  return report
}
