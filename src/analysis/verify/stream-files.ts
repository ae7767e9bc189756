import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as yieldTurn } from 'node:timers/promises'
import type { Item } from '../../model/outcome.js'
import { isRow } from '../../model/row.js'
import { type Stock, toStockItems } from '../../model/stock.js'
import { MASTER, type StreamDefinition } from '../../pipeline/define-stream.js'
import { isTemporaryName } from '../../storage/atomic-file.js'
import { listNames, readStateDocument } from '../../storage/file-system.js'
import { statePaths } from '../../storage/run-state.js'
import { checkNames, type Finding, type Unchecked } from './finding.js'
import { findOutputs, type RecordedFiles, type StreamFiles } from './output-files.js'

/** The files of all streams, with the items that they are about. */
export const findStreamFiles = async (
  root: string,
  streams: readonly StreamDefinition[],
  { exchange, stocks }: { readonly exchange: string; readonly stocks: readonly Stock[] },
): Promise<readonly StreamFiles[]> => {
  const offered = new Map<string, readonly Item[]>([[MASTER, toStockItems(stocks)]])
  const all: StreamFiles[] = []
  for (const stream of streams) {
    const { of } = stream.work
    if (of !== undefined && !offered.has(of)) offered.set(of, await readItems(root, of, streams))
    all.push(await findOutputs(root, stream, { exchange, items: offered.get(of ?? '') ?? [] }))
    await yieldTurn()
  }
  return all
}

/** The items that a stream offers to its followers, from its stored list. */
const readItems = async (root: string, name: string, streams: readonly StreamDefinition[]): Promise<readonly Item[]> => {
  const stream = streams.find((one) => one.name === name)
  const rows = await readStateDocument(join(root, stream?.outputs[0].file ?? ''))
  return Array.isArray(rows) ? (stream?.offers?.(rows.filter(isRow), () => undefined) ?? []) : []
}

/** Finds temporary files of interrupted writes. The next run removes them. */
export const findInterruptedWrites = async (root: string, all: readonly StreamFiles[]): Promise<readonly Finding[]> => {
  if (existsSync(statePaths(root).lock)) return []
  const folders = new Set(all.flatMap(({ stream }) => stream.outputs.map(({ file }) => file.slice(0, Math.max(0, file.lastIndexOf('/'))))))
  const names = await Promise.all(
    [...folders].map(async (folder) => (await listNames(join(root, folder))).map((name) => join(folder, name))),
  )
  return names
    .flat()
    .filter((file) => isTemporaryName(file.slice(file.lastIndexOf('/') + 1)))
    .sort()
    .map(
      (file): Finding => ({
        check: 'files',
        severity: 'warning',
        file,
        detail: 'a leftover of an interrupted write; the next run removes it',
      }),
    )
}

/** Finds files of items that are no longer listed. None if no file matches the list: then the list itself is wrong. */
export const findLeftovers = (all: readonly StreamFiles[]): readonly Finding[] =>
  all
    .filter(({ isPerItem, files }) => isPerItem && files.some(({ item }) => item !== undefined))
    .flatMap(({ stream, files }) =>
      files
        .filter(({ item }) => item === undefined)
        .map(
          ({ file }): Finding => ({
            check: 'leftovers',
            severity: 'info',
            file,
            detail: `its ${stream.work.of === MASTER ? 'stock' : 'index'} is no longer in the list of ${stream.name}`,
          }),
        ),
    )

/** Merges the `files` findings of each file: a truncated file is also shorter than recorded. */
export const mergePerFile = (findings: readonly Finding[]): readonly Finding[] => {
  const first = new Map<string, Finding>()
  for (const finding of findings) {
    if (finding.check !== 'files' || finding.file === undefined) continue
    const known = first.get(finding.file)
    first.set(finding.file, known === undefined ? finding : { ...finding, ...known, detail: `${known.detail}; ${finding.detail}` })
  }
  return [...findings.filter(({ check, file }) => check !== 'files' || file === undefined), ...first.values()]
}

/** The missing inputs of the checks of files. */
export const describeUncheckedFiles = (
  root: string,
  { report, sizes: left }: RecordedFiles,
  all: readonly StreamFiles[],
): readonly Unchecked[] => {
  const empty = all.filter(({ files }) => files.length === 0).map(({ stream }) => stream.name)
  return [
    ...(report === undefined && Object.keys(left).length === 0
      ? [{ checks: ['files'], text: 'file sizes: no report of a run' } as const]
      : []),
    ...(empty.length > 0 ? [{ checks: ['stray-records', 'files'], text: `streams without files: ${empty.join(', ')}` } as const] : []),
    ...(existsSync(statePaths(root).run.record)
      ? [{ checks: checkNames, text: 'one day: a run is active, was interrupted or is incomplete, so files may be of different days' }]
      : []),
  ]
}
