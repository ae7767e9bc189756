import { defer } from 'rxjs'
import { readRunRecords } from '../../storage/run-records.js'
import { requireFolder } from '../../storage/run-state.js'
import type { AddCommand } from '../dependencies.js'
import { exampleText, type FolderFlags, integerOption, withFolderOptions } from '../options.js'
import { resolveSettings } from '../provider.js'
import { printJson, printLines, printWarning } from '../terminal/print.js'
import { readSize } from '../terminal/terminal.js'
import { comparisonLines, entryLines, findRun, logLines } from './lines.js'

interface LogFlags extends FolderFlags {
  readonly limit: number
  readonly json?: boolean
}

const examples = [
  ['scripstream log', 'the last 20 runs: when, how long, outcome, what failed'],
  ['scripstream log 2026-11-17', 'what failed on that day, stock by stock'],
  ['scripstream log last', 'the last run'],
  ['scripstream log -2 last', 'the last run compared with the one before'],
] as const

const DEFAULT_LIMIT = 20

export const addLog: AddCommand = (program, { io, dependencies, act }) => {
  withFolderOptions(program.command('log').description('Shows the runs of a folder: all of them, one, or two compared.'))
    .argument('[run]', 'a run: its id, a day (YYYY-MM-DD), "last", or -2 for the one before the last')
    .argument('[other]', 'another run, to compare the two')
    .allowUnknownOption()
    .addOption(integerOption('--limit <n>', 'how many runs are listed', [1, 10_000]).default(DEFAULT_LIMIT))
    .option('--json', 'print JSON on stdout')
    .addHelpText('after', exampleText(examples))
    .action((run: string | undefined, other: string | undefined, { out, config, limit, json = false }: LogFlags) =>
      act(
        defer(async () => {
          const settings = resolveSettings({ out, config }, io, dependencies)
          const { runs: entries, damage } = await readRunRecords(settings.out)
          if (entries.length === 0) await requireFolder(settings.out)
          for (const text of damage) printWarning(text, io.stderr)
          const chosen = [run, other].filter((name) => name !== undefined).map((name) => findRun(entries, name))
          const [one, two] = chosen
          const { columns } = readSize(io.stdout)
          if (json) printJson(one === undefined ? entries.slice(-limit) : two === undefined ? one : chosen, io.stdout)
          else if (one !== undefined)
            printLines(two === undefined ? entryLines(one, columns) : comparisonLines(one, two, columns), io.stdout)
          else if (entries.length === 0) printLines([[['No run is recorded here yet.']]], io.stdout)
          else printLines(logLines(entries.slice(-limit), columns), io.stdout)
          return 0
        }),
      ),
    )
}
