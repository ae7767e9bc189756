import type { Export } from '../../../sinks/export.js'
import { UsageError } from '../../model/errors.js'

/** Where an export goes, as it was typed. */
export interface Target {
  readonly kind: 'duckdb' | 'parquet' | 'postgres'
  /** A file, a folder or an address; empty for the PostgreSQL of the environment. */
  readonly place: string
}

const FORMS = 'market.duckdb, duckdb:FILE, parquet:DIR or postgres://user@host/database'

/** Reads `--to` and `--sink`: `duckdb:FILE` (or any `FILE.duckdb`), `parquet:DIR`, `postgres:URL` (or the URL alone). */
export const readTarget = (flag: string, text: string): Target => {
  if (/^postgres(ql)?:\/\//.test(text)) return { kind: 'postgres', place: text }
  if (/^postgres:?$/.test(text)) return { kind: 'postgres', place: '' }
  const [, kind = '', place = ''] = /^(duckdb|parquet|postgres):(.+)$/s.exec(text) ?? []
  if (kind === 'postgres' && !/^postgres(ql)?:\/\//.test(place))
    throw new UsageError(`${flag}: what follows postgres: is no address such as postgres://user@host/database`)
  if (kind === 'duckdb' || kind === 'parquet' || kind === 'postgres') return { kind, place }
  if (/.\.(duckdb|db)$/.test(text)) return { kind: 'duckdb', place: text }
  throw new UsageError(`${flag}: ${JSON.stringify(text.replace(/\/\/[^/@]*@/, '//…@'))} is no place to load into: ${FORMS}`)
}

/** The sink of a target. What it needs is loaded now, so that a package that is missing is told before anything is done. */
export const exportInto = async ({ kind, place }: Target, { schema }: { readonly schema?: string | undefined } = {}): Promise<Export> => {
  const { loadDuck } = await import('../../tables/duckdb.js')
  await loadDuck()
  switch (kind) {
    case 'duckdb':
      return (await import('../../../sinks/duckdb.js')).duckdb(place)
    case 'parquet':
      return (await import('../../../sinks/parquet.js')).parquet(place)
    case 'postgres': {
      await (await import('../../../sinks/postgres-package.js')).loadPostgres()
      const { postgres } = await import('../../../sinks/postgres.js')
      return postgres(place, schema === undefined ? {} : { schema })
    }
  }
}
