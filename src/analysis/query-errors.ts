import { CollectError, UsageError } from '../model/errors.js'
import { type Columned, listColumns } from '../model/table.js'
import { findClosest } from '../model/text.js'
import { toQueryError } from '../storage/duckdb.js'

/** What a statement may use: all tables, and those that it names. */
interface QueryTables {
  readonly all: readonly Columned[]
  readonly used: readonly Columned[]
}

/** An error of DuckDB for people: an unknown table comes with the tables, an unknown column with the columns of the tables in the statement. */
export const explainQueryError = (error: unknown, { all, used }: QueryTables): unknown => {
  const converted = toQueryError(error)
  if (converted === error || !(converted instanceof CollectError)) return converted
  const { message } = converted
  const table = /^Catalog Error: Table with name "?(.+?)"? does not exist/.exec(message)?.[1]
  const tableNames = all.map(({ name }) => name)
  if (table !== undefined) return describeUnknownName(error, message, { what: 'table', name: table, lists: [['tables', tableNames]] })
  const column = /^Binder Error: .*(?:Referenced column|column named) "(.+?)"/.exec(message)?.[1]
  if (column === undefined || used.length === 0) return converted
  const lists = used.map((one) => [`columns of ${one.name}`, listColumns(one).map(({ name }) => name)] as const)
  return describeUnknownName(error, message, { what: 'column', name: column, lists })
}

interface UnknownName {
  readonly what: string
  readonly name: string
  readonly lists: readonly (readonly [title: string, names: readonly string[]])[]
}

const describeUnknownName = (cause: unknown, message: string, { what, name, lists }: UnknownName): UsageError => {
  const start = message.search(/^LINE \d/m)
  const position = start < 0 ? [] : [message.slice(start)]
  const names = lists.flatMap(([, all]) => all)
  const lines = lists.map(([title, all]) => `${title}: ${all.join(', ')}`)
  const near = findClosest(name, names)
  return new UsageError(
    [`unknown ${what}: ${name}${near === undefined ? '' : ` (did you mean ${near}?)`}`, ...position, ...lines].join('\n'),
    { cause },
  )
}
