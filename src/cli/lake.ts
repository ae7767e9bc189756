import { Option } from 'commander'
import type { AddCommand } from './dependencies.js'
import { EXPORT_EXIT_CODES, type ExportFlags, exportCommand } from './export/command.js'
import { LAKE } from './export/targets.js'
import { exampleText, withFolderOptions } from './options.js'

const examples = [
  ['scripstream lake', 'all tables into ./data/lake, those that have changed'],
  ['duckdb -init views.sql', 'then, in that folder: queries without scripstream'],
] as const

const NOTE = `
One file for each table that query lists, with views.sql for DuckDB and a README for
pandas and Polars. With the setting "lake": true each run does this.
`

export const addLake: AddCommand = (program, { io, dependencies, act }) => {
  withFolderOptions(program.command('lake').description('Writes all tables as Parquet files that any tool can read.'))
    .option('--json', 'print the tables as JSON')
    .addOption(new Option('--quiet', 'print nothing if all is well, for schedulers').conflicts('json'))
    .addHelpText('after', NOTE + exampleText(examples) + EXPORT_EXIT_CODES)
    .action((flags: Omit<ExportFlags, 'to'>) => act(exportCommand({ ...flags, to: [LAKE] }, io, dependencies)))
}
