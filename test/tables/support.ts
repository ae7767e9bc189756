import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { lastValueFrom } from 'rxjs'
import { createCollector } from '../../src/collector.js'
import { listTables } from '../../src/engine/define-stream.js'
import { serveSimulator } from '../../src/simulator/index.js'
import { queryRows, readQuery } from '../../src/tables/query.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { copyShared } from '../support/shared-folder.js'

/** Whether DuckDB is available: not every system has a binary. */
export const duckdb = await import('@duckdb/node-api').then(
  () => true,
  (error: unknown) => {
    process.stderr.write(
      `skipped: cannot load DuckDB: ${error instanceof Error ? error.message : String(error)}\n`,
    )
    return false
  },
)

/** A simulated market in its own folder, a copy of the one that all test files share. */
export const collected = async (
  stocks = 12,
  candleDays = 40,
): Promise<{ readonly out: string; readonly remove: () => void }> => {
  const out = mkdtempSync(join(tmpdir(), 'scripstream-tables-'))
  await copyShared(`market-${stocks}-${candleDays}`, out, (folder) => collectInto(folder, stocks, candleDays))
  return { out, remove: () => rmSync(out, { recursive: true, force: true }) }
}

const collectInto = async (out: string, stocks: number, candleDays: number): Promise<void> => {
  const asOf = Date.parse('2026-02-12T20:00:00+05:30')
  const endpoints = streams.flatMap((stream) => stream.endpoints)
  const provider = await serveSimulator({ endpoints, stocks, asOf, candleDays })
  const optional = streams.flatMap((stream) => (stream.optional ? [stream.name] : []))
  try {
    const collector = createCollector({ settings: { ...provider.settings, out, with: optional } })
    await lastValueFrom(collector.run({ asOf }))
  } finally {
    await provider.close()
  }
}

/** A folder with exactly these files; it is deleted when the test ends, or else the test file. */
export const folderWith = (files: Readonly<Record<string, string | object>>): string => {
  const out = temporaryFolder()
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(out, file)), { recursive: true })
    writeFileSync(join(out, file), typeof content === 'string' ? content : JSON.stringify(content))
  }
  return out
}

/** The rows of a result, every value as text. */
export const rowsOf = (
  sql: string,
  out: string,
  lakeFrom: number | false = false,
): Promise<readonly (readonly (string | null)[])[]> =>
  readQuery(sql, { out, tables: listTables(streams), lakeFrom }, async ({ result }) =>
    (await result.getRows()).map((row) => row.map((value) => (value === null ? null : String(value)))),
  )

/** The rows of a result as objects: numbers as numbers, other values as text. */
export const objectsOf = (sql: string, out: string, lakeFrom: number | false = false) =>
  queryRows(sql, { out, tables: listTables(streams), lakeFrom })
