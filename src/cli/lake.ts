import { defineCommand } from './command.js'
import { EXIT_MISSING, INTERRUPTED, loadFlags, loadTargets } from './export/command.js'
import { LAKE } from './export/targets.js'

export const addLake = defineCommand({
  name: 'lake',
  about: 'Writes all tables as Parquet files that any tool can read.',
  flags: loadFlags,
  examples: [
    ['scripstream lake', 'all tables into ./data/lake, those that have changed'],
    ['duckdb -init views.sql', 'then, in that folder: queries without scripstream'],
  ],
  notes: [
    'One file for each table, with views.sql for DuckDB and a README for pandas and Polars. With the setting "lake": true each run does this.',
  ],
  needs: ['@duckdb/node-api'],
  exits: { [EXIT_MISSING]: 'tables are missing, because no run has finished or recorded days are damaged' },
  endsBySignal: true,
  interrupted: INTERRUPTED,
  run: (flags, input) => loadTargets({ command: 'lake', targets: [LAKE] }, flags, input),
})
