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
  ['scripstream export --to parquet:/srv/parquet', 'a folder for each table, candles by year'],
  ['scripstream export --to postgres://me@localhost/market --schema nse', 'into a schema of a PostgreSQL database'],
  ['scripstream export --to postgres', 'the database that PGHOST, PGUSER, PGPASSWORD and PGDATABASE name'],
] as const

const NOTE = `
What is there afterwards is what the folder holds, however often it is done: in
one transaction (or, of Parquet, folders that are moved into place), so that a
failure leaves what was there. A table of which no file is there is skipped and
keeps what was loaded before. Of two candles of one day, the last in the file
counts; one whose day cannot be read is left out. What else lies there stays.
It needs DuckDB: npm install @duckdb/node-api; for PostgreSQL also:
npm install postgres
`

const EXIT_CODES = `
Exit codes:
  0              loaded
  1              an output cannot be read, or a place not be written
  2              wrong usage or configuration; there is nothing to load, or what
                 it needs is missing
  130, 143, 129  interrupted by Ctrl+C, TERM or a closed terminal
`

export const addExport: AddCommand = (program, { shell, parts, act }) => {
  program
    .command('export')
    .description('Loads the collected files into DuckDB, Parquet or PostgreSQL.')
    .requiredOption(
      '--to <target>',
      'market.duckdb, parquet:DIR or postgres://…; may be given again',
      (text: string, before: readonly Target[] = []) => [...before, readTarget('--to', text)],
    )
    .option('--out <dir>', 'folder of the outputs (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if it is there)')
    .option('--schema <name>', 'schema in PostgreSQL (default: scripstream)')
    .option('--json', 'print what was loaded as JSON')
    .addHelpText('after', NOTE + exampleText(examples) + EXIT_CODES)
    .action(({ json = false, to, out, config, schema }: ExportInput) => act(exportCommand({ to, out, config, schema, json }, shell, parts)))
}
