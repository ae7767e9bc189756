import type { DuckDBConnection } from '@duckdb/node-api'
import type { RewrittenFile } from '../../model/report.js'
import { type Day, formatSecond } from '../../model/trading-day.js'
import { quoteText } from '../../storage/duckdb.js'
import { REWRITTEN, type Rewritten, unpack } from '../../storage/history/day-file.js'
import { listDays, readUndamaged, type Warn } from '../../storage/history/history-folder.js'
import { REWRITTEN_ROWS, REWRITTEN_TYPE, REWRITTEN_VIEW } from '../tables/rewritten.js'
import type { View } from '../tables/view.js'

/** A file of candles that a recorded run replaced. */
interface RewrittenOn extends RewrittenFile {
  readonly day: Day
  /** ISO 8601. */
  readonly knownAt: string
  readonly stream: string
}

/** The files of candles that the runs of all recorded days replaced, oldest first. `warn` gets the damaged days. */
const readRewritten = async (root: string, warn: Warn): Promise<readonly RewrittenOn[]> => {
  const all: RewrittenOn[] = []
  for (const day of await listDays(root)) {
    const entry = (await readUndamaged(root, day, warn))?.entries[REWRITTEN]
    if (entry === undefined) continue
    // A file without a time was recorded by an older version: that of the record counts.
    for (const [stream, files] of Object.entries((await unpack(entry)) as Rewritten))
      all.push(...files.map((file) => ({ day, stream, knownAt: entry.knownAt, ...file })))
  }
  return all
}

/** Sets the variable with the candle histories that runs replaced, if a view reads it. `until` is the day as of which tables are read. */
export const setRewritten = async (
  connection: DuckDBConnection,
  views: readonly View[],
  { root, until, warn }: { readonly root: string; readonly until?: Day | undefined; readonly warn: Warn },
): Promise<void> => {
  if (!views.some(({ sql }) => sql.includes(REWRITTEN_ROWS))) return
  const rows = (await readRewritten(root, warn)).map(({ knownAt, ...row }) => ({
    ...{ ...row, known_at: formatSecond(Date.parse(knownAt)) },
    is_later: until !== undefined && row.day > until,
  }))
  const json = quoteText(JSON.stringify(rows))
  await connection.run(`SET VARIABLE ${REWRITTEN_VIEW} = CAST(${json}::JSON AS ${REWRITTEN_TYPE})`)
}
