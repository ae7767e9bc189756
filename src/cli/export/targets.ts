import { dirname } from 'node:path'
import { defer, forkJoin, type Observable, of } from 'rxjs'
import { UsageError } from '../../model/errors.js'
import type { Export, ExportOptions, LoadedTable } from '../../tables/export/export.js'
import { type Flag, listFlag } from '../options.js'

const PATH_KINDS = ['duckdb', 'qlib', 'zipline'] as const

export const targetForms: readonly string[] = [...PATH_KINDS.map((kind) => `${kind}:`), 'postgres://']

export interface Target {
  readonly kind: (typeof PATH_KINDS)[number] | 'postgres' | 'xlsx' | 'lake'
  /** A file, a folder or an address; empty for the PostgreSQL of the environment and for the lake. */
  readonly location: string
  readonly typed: string
}

export interface ExportResult {
  readonly sink: string
  readonly ms: number
  readonly tables: readonly LoadedTable[]
  /** The folder that was made for it. */
  readonly newFolder?: string
}

export const LAKE: Target = { kind: 'lake', location: '', typed: 'lake' }

const FORMS = 'market.duckdb, duckdb:FILE, qlib:DIR, zipline:DIR, TABLE.xlsx or postgres://user@host/database'

/** What to use instead of a target of an earlier version. */
const findReplacement = (text: string): string | undefined => {
  if (/^parquet:|.\.parquet$/.test(text))
    return 'the lake is Parquet: use "scripstream export" without --to, or the setting "lake": true'
  const [, name = 'TABLE', format] = /(\w+)?\.(csv|json)$/.exec(text) ?? []
  return (
    format &&
    `a query writes ${format.toUpperCase()}: scripstream query --format ${format} "from ${name} order by all" > FILE`
  )
}

/**
 * Reads `--to` and `--sink`: `duckdb:FILE` (or any `FILE.duckdb`), `qlib:DIR`, `zipline:DIR`, `TABLE.xlsx`,
 * `postgres:URL` (or the URL alone).
 */
export const readTarget = (flag: string, text: string): Target => {
  if (/^postgres:?$/.test(text)) return { kind: 'postgres', location: '', typed: text }
  const address = text.replace(/^postgres:(?!\/\/)/, '')
  if (/^postgres(ql)?:\/\//.test(address)) return { kind: 'postgres', location: address, typed: text }
  if (address !== text)
    throw new UsageError(`${flag}: invalid PostgreSQL address; use postgres://user@host/database`)
  const kind = PATH_KINDS.find((one) => text.startsWith(`${one}:`) && text.length > one.length + 1)
  if (kind !== undefined) return { kind, location: text.slice(kind.length + 1), typed: text }
  if (/.\.xlsx$/.test(text)) return { kind: 'xlsx', location: text, typed: text }
  if (/.\.(duckdb|db)$/.test(text)) return { kind: 'duckdb', location: text, typed: text }
  const replacement = findReplacement(text)
  if (replacement !== undefined) throw new UsageError(`${flag}: ${replacement}`)
  throw new UsageError(
    `${flag}: unknown target ${JSON.stringify(text.replace(/\/\/[^/@]*@/, '//…@'))}; use ${FORMS}`,
  )
}

/** The folder that a target creates if it is not there: its own, or that of its file. */
export const findFolder = ({ kind, location }: Target): string | undefined => {
  if (kind === 'xlsx') return dirname(location)
  return kind === 'qlib' || kind === 'zipline' ? location : undefined
}

/** `--to` and `--sink`, which may be repeated. */
export const targetsFlag = (
  flags: '--to <target>' | '--sink <target>',
  about: string,
): Flag<readonly Target[] | undefined> =>
  listFlag(flags, about, (text) => [readTarget(flags.replace(/ .*/, ''), text)])

/**
 * Errors if a package that a sink needs is missing, so that this is reported before the first request. Emits
 * once.
 */
export const checkSinks = (
  targets: readonly Target[],
  { streams }: Pick<ExportOptions, 'streams'>,
): Observable<unknown> =>
  targets.length === 0
    ? of([])
    : forkJoin(targets.map((target) => defer(() => createExport(target, { streams }))))

/**
 * Creates the sink of a target. Loads its packages now, so that a missing one is reported before any work.
 */
export const createExport = async (
  { kind, location }: Target,
  { schema, ...options }: ExportOptions & { readonly schema?: string | undefined },
): Promise<Export> => {
  const { loadDuckDb } = await import('../../storage/duckdb.js')
  loadDuckDb()
  const load: Readonly<Record<Target['kind'], () => Promise<Export>>> = {
    duckdb: async () => (await import('../../tables/export/duckdb.js')).duckdb(location, options),
    qlib: async () => (await import('../../tables/export/bundle.js')).qlib(location, options),
    zipline: async () => (await import('../../tables/export/bundle.js')).zipline(location, options),
    lake: async () => (await import('../../tables/lake/whole-lake.js')).wholeLake(options),
    xlsx: async () => (await import('../../tables/export/workbook.js')).workbook(location, options),
    postgres: async () => {
      const { postgres } = await import('../../tables/export/postgres.js')
      ;(await import('../../tables/export/postgres-session.js')).assertPostgresInstalled()
      return postgres(location, { ...options, schema })
    },
  }
  return load[kind]()
}
