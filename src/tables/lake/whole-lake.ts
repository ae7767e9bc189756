import { listTables } from '../../engine/define-stream.js'
import { disk } from '../../storage/disk.js'
import { quoteName } from '../../storage/duckdb.js'
import { writeFileAtomically } from '../../storage/file-system.js'
import { listListedDays } from '../../storage/history/choose.js'
import { openHistory } from '../../storage/history/record.js'
import { deleteTemporaryFiles } from '../../storage/lock.js'
import { readMarketDays } from '../../storage/session-days.js'
import { countRows, defineExport, loadEach } from '../export/define-export.js'
import type { Export, ExportOptions } from '../export/export.js'
import { readFormer, readRecordedSymbols } from '../former-symbols.js'
import { readRunDay } from '../variables.js'
import { listViews } from '../views/index.js'
import { listLakeGuide } from './guide.js'
import { nameLakeFile, toLakePath } from './lake.js'

/**
 * Writes all tables and views of a folder that have changed to its lake, the folder `lake/` with a Parquet
 * file for each, `views.sql` and a README. It has the present tables: `views.sql` answers as of a day.
 *
 * @throws UsageError, when it runs, if its package is not installed; StorageError if a file cannot be written
 * @example wholeLake({ streams }).write('./data').subscribe()
 */
export const wholeLake = (options: Omit<ExportOptions, 'asOf'>): Export =>
  defineExport(
    { ...options, asOf: undefined, name: 'lake', lake: { isRequired: true } },
    async (exporting) => {
      const { connection, root, tables } = exporting
      const loaded = await loadEach(exporting, ({ name }) => countRows(connection, quoteName(name)))
      const stored = new Set(tables.filter(({ version }) => version !== undefined).map(({ name }) => name))
      // Views cannot be stored while the day of the run is unknown, or the history is damaged.
      for (const { name } of tables)
        if (!stored.has(name)) await disk.rm(toLakePath(root, nameLakeFile(name)), { force: true })
      const known = listTables(options.streams)
      const [history, runDay] = [await openHistory(root, known), await readRunDay(root, known)]
      const views = listViews(known)
      const former = [
        ...(await readFormer({ root, views, mayBePast: true })),
        // The export has warned of damaged days.
        ...(await readRecordedSymbols(connection, views, { history, tables: known, warn: () => undefined })),
      ]
      const toMarketDay = await readMarketDays(root, known, listListedDays(history))
      const shown = { history, tables: known, stored, runDay, toMarketDay, former }
      for (const [name, text] of listLakeGuide(shown))
        await writeFileAtomically(toLakePath(root, name), [text])
      // A query may be writing one.
      await deleteTemporaryFiles(toLakePath(root), Date.now() - 3_600_000)
      const missing = runDay === undefined ? 'the folder has no report of a run' : 'recorded days are damaged'
      return loaded.map((table, place) => ({
        ...table,
        ms: tables[place]?.writingMs ?? 0,
        leftOut: 0,
        isSkipped: false,
        ...(!stored.has(table.table) && { missing }),
      }))
    },
  )
