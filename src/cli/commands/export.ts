import { exportCommand } from '../export/export.js'
import { readTarget, type Target } from '../export/targets.js'
import { exampleText } from '../help.js'
import type { AddCommand } from './context.js'

interface ExportInput {
  readonly to: readonly Target[]
  readonly out?: string
  readonly config?: string
  readonly schema?: string
  readonly json?: boolean
}

const examples = [
  ['scripstream export --to market.duckdb', 'all tables into one DuckDB file'],
  ['scripstream export --to parquet:/srv/parquet', 'one folder per table, candles by year'],
  ['scripstream export --to postgres://me@localhost/market --schema nse', 'into a schema of a PostgreSQL database'],
  ['scripstream export --to postgres', 'the database that PGHOST, PGUSER, PGPASSWORD and PGDATABASE name'],
] as const

const EXPORT_NOTE = `
Replaces the tables with the contents of the folder, in one transaction (for
Parquet: finished folders are moved into place). After a failure, the earlier
data is still there. A table without source files is skipped and keeps its rows.
Of two candles of one day, the last one in the file counts; a candle with an
unreadable day is left out. Everything else at the target stays.
Needs DuckDB: npm install @duckdb/node-api; for PostgreSQL also:
npm install postgres
`

const EXPORT_EXIT_CODES = `
Exit codes:
  0              loaded
  1              an output cannot be read, or a target cannot be written
  2              wrong usage or configuration, nothing to load, or a missing
                 package
  130, 143, 129  interrupted by Ctrl+C, TERM or a closed terminal
`

export const addExport: AddCommand = (program, { io, dependencies, act }) => {
  program
    .command('export')
    .description('Loads the collected files into DuckDB, Parquet or PostgreSQL.')
    .requiredOption(
      '--to <target>',
      'market.duckdb, parquet:DIR or postgres://…; repeatable',
      (text: string, before: readonly Target[] = []) => [...before, readTarget('--to', text)],
    )
    .option('--out <dir>', 'output folder (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if present)')
    .option('--schema <name>', 'schema in PostgreSQL (default: scripstream)')
    .option('--json', 'print the loaded tables as JSON')
    .addHelpText('after', EXPORT_NOTE + exampleText(examples) + EXPORT_EXIT_CODES)
    .action(({ json = false, to, out, config, schema }: ExportInput) =>
      act(exportCommand({ to, out, config, schema, json }, io, dependencies)),
    )
}
