import { join } from 'node:path'
import type { StreamDefinition } from '../engine/define-stream.js'
import { listTables } from '../engine/define-stream.js'
import { UsageError } from '../model/errors.js'
import { findClosest, suggest } from '../model/text.js'
import { disk } from '../storage/disk.js'
import { openDuckDb } from '../storage/duckdb.js'
import { listNames, writeFileAtomically } from '../storage/file-system.js'
import { statePaths } from '../storage/run-state.js'
import { openFolder } from '../storage/table-folder.js'
import { checkStatement } from './statement.js'
import { listViews } from './views/index.js'
import { type NamedQuery, workedQueries } from './worked-queries.js'

/** Letters, digits and dashes: no statement of SQL is one such word. */
const QUERY_NAME = /^[a-z][a-z0-9-]{0,49}$/

/**
 * The statement that a text means: a saved query or a worked one if it is a name, else the text itself. A
 * saved query goes before a worked one, and that before `others`.
 *
 * @throws UsageError for an unknown name
 */
export const resolveQuery = async (
  text: string,
  out: string,
  others: readonly NamedQuery[] = [],
): Promise<string> => {
  const name = text.trim()
  if (!QUERY_NAME.test(name)) return text
  const all = [...(await listSavedQueries(out)), ...workedQueries, ...others]
  const found = all.find((one) => one.name === name)
  if (found !== undefined) return found.sql
  const names = all.map((one) => one.name)
  throw new UsageError(`unknown query: ${name}${suggest(findClosest(name, names))}`, {
    code: 'unknown-query',
  })
}

/** The queries that are saved in a folder, by name. */
export const listSavedQueries = async (out: string): Promise<readonly NamedQuery[]> => {
  const folder = statePaths(out).queries
  const files = (await listNames(folder)).filter((file) => file.endsWith('.sql')).sort()
  return Promise.all(
    files.map(async (file) => ({
      name: file.slice(0, -4),
      about: 'saved',
      sql: await disk.readFile(join(folder, file), 'utf8'),
    })),
  )
}

interface QueryToSave extends Omit<NamedQuery, 'about'> {
  readonly out: string
  readonly streams: readonly StreamDefinition[]
}

/**
 * Saves a query in the state of a folder; replaces a saved one of the same name. @throws UsageError for a
 * name that is wrong or means something else, or a wrong statement
 */
export const saveQuery = async ({ name, sql, out, streams }: QueryToSave): Promise<void> => {
  if (!QUERY_NAME.test(name))
    throw new UsageError(
      `invalid name ${JSON.stringify(name)}; use small letters, digits and dashes, such as my-screen`,
    )
  const tables = listTables(streams)
  const relations = [...tables, ...listViews(tables)]
  if ([...relations, ...workedQueries].some((one) => one.name === name))
    throw new UsageError(`${name} is the name of a table or a worked query; choose another one`)
  const { root } = await openFolder(out)
  const { connection, close } = await openDuckDb()
  try {
    await checkStatement(connection, sql, relations)
  } finally {
    close()
  }
  await writeFileAtomically(join(statePaths(root).queries, `${name}.sql`), [`${sql.trim()}\n`])
}
