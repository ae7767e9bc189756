import { Command, CommanderError, Option } from 'commander'
import { defer, lastValueFrom, type Observable, of } from 'rxjs'
import { jsonText } from '../model/json-text.js'
import { graphOf } from './graph.js'
import { EXIT_CODES, examples, exampleText, faultsText, settingsText } from './help.js'
import { listDocument, listLines } from './list.js'
import type { Parts, Shell } from './parts.js'
import { progressModes } from './progress.js'
import { runCommand } from './run.js'
import { flagsOf, type RunInput } from './run-flags.js'
import { simulateCommand } from './simulate.js'
import { tellError } from './tell.js'
import { paintLine, sizeOf } from './terminal.js'
import { readAsOf, readStreams, readSymbols, readWhole } from './values.js'

type Act = (code$: Observable<number>) => Promise<void>

/** Runs the command that was typed (`args` is what follows `scripstream`) and tells its exit code; never rejects. */
export const runProgram = async (args: readonly string[], shell: Shell, parts: Parts): Promise<number> => {
  let code = 0
  const act: Act = async (code$) => {
    code = await lastValueFrom(code$, { defaultValue: 1 })
  }
  try {
    await programOf({ args, shell, parts, act }).parseAsync([...args], { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    return tellError(error, shell)
  }
}

interface ProgramContext {
  readonly args: readonly string[]
  readonly shell: Shell
  readonly parts: Parts
  readonly act: Act
}

const programOf = (context: ProgramContext): Command => {
  const { shell, parts } = context
  const program = new Command('scripstream')
    .description('Collects Indian exchange-listed equity data: every collection script a stream, one command for the whole market.')
    .version(parts.version)
    .exitOverride()
    .showHelpAfterError('(--help shows what there is)')
    .configureOutput({
      writeOut: (text) => void shell.stdout.write(text),
      writeErr: (text) => void shell.stderr.write(text),
      getOutHelpWidth: () => sizeOf(shell.stdout).columns,
      getErrHelpWidth: () => sizeOf(shell.stderr).columns,
    })
    .addHelpText('after', exampleText(examples.program))
  addRun(program, context)
  addSimulate(program, context)
  addList(program, context)
  addGraph(program, context)
  return program
}

const addRun = (program: Command, { args, shell, parts, act }: ProgramContext): void => {
  const names = parts.streams.map(({ name }) => name)
  const streamsOption = (flag: string, text: string): Option =>
    new Option(`${flag} <streams>`, text).argParser((list: string, before: readonly string[] = []) => [
      ...new Set([...before, ...readStreams(flag, list, names)]),
    ])
  program
    .command('run')
    .description('Runs the graph once and writes the outputs.')
    .option('--out <dir>', 'folder that the outputs are written to (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if it is there)')
    .addOption(streamsOption('--only', 'only these streams, and what they need'))
    .addOption(streamsOption('--skip', 'all streams but these'))
    .option('--symbols <symbols>', 'only these stocks: A,B or @FILE; other records stay', readSymbols)
    .option('--as-of <iso>', '"now": a day (its evening in India) or an instant with its offset', readAsOf)
    .option('--fresh', 'begin anew: continue no unfinished run, ask again after a complete one')
    .option('--accept-shrink', 'lists may hold less than 70 % of what they held before')
    .addOption(stocksOption('--simulate [stocks]', 'ask the embedded provider; 500 stocks if no number is given'))
    .addOption(new Option('--progress <how>', 'how progress is shown on stderr').choices(progressModes).default('auto'))
    .option('--json', 'print the run report as JSON, and nothing else, on stdout')
    .addOption(new Option('--log-level <level>', 'logs as NDJSON on stderr').choices(LEVELS).default('silent'))
    .addHelpText('after', () => exampleText(examples.run) + settingsText(parts.settingRows, sizeOf(shell.stdout).columns) + EXIT_CODES)
    .action((input: RunInput) => act(runCommand(flagsOf(input, args), shell, parts)))
}

const LEVELS = ['silent', 'error', 'warn', 'info', 'debug', 'trace']

const MOST_STOCKS = 10_000

const wholeOption = (flags: string, text: string, [least, most]: readonly [number, number]): Option =>
  new Option(flags, text).argParser((value) => readWhole(flags.replace(/ .*/, ''), value, least, most))

const stocksOption = (flags: string, text: string): Option => wholeOption(flags, text, [1, MOST_STOCKS])

interface SimulateInput {
  readonly port: number
  readonly stocks: number
  readonly seed: number
  readonly latency: number
  readonly faults?: string
  readonly limits?: string
  readonly asOf?: number
}

const addSimulate = (program: Command, { shell, parts, act }: ProgramContext): void => {
  program
    .command('simulate')
    .description('Serves the embedded provider and prints the environment that leads to it.')
    .addOption(wholeOption('--port <n>', 'port on 127.0.0.1; 0 for any that is free', [0, 65_535]).default(0))
    .addOption(stocksOption('--stocks <n>', 'how many stocks are listed').default(500))
    .addOption(wholeOption('--seed <n>', 'the same seed gives the same market', [0, 2 ** 31 - 1]).default(1))
    .addOption(wholeOption('--latency <ms>', 'pause before each answer', [0, 60_000]).default(0))
    .option('--faults <file>', 'JSON file with a list of things that go wrong')
    .option('--limits <file>', 'JSON file with what each host (or *) grants: {"news": {"perSecond": 50, "burst": 10}}')
    .option('--as-of <iso>', '"now" of the market: a day (its evening in India) or an instant with its offset', readAsOf)
    .addHelpText('after', () => exampleText(examples.simulate) + faultsText(sizeOf(shell.stdout).columns))
    .action(({ latency, faults, limits, asOf, ...rest }: SimulateInput) =>
      act(simulateCommand({ ...rest, latencyMs: latency, faults, limits, asOf }, shell, parts)),
    )
}

const addList = (program: Command, { shell, parts, act }: ProgramContext): void => {
  program
    .command('list')
    .description('Shows the streams: phases, workers, endpoints and outputs.')
    .option('--json', 'as JSON')
    .addHelpText('after', exampleText(examples.list))
    .action(({ json }: { readonly json?: boolean }) =>
      act(
        printed(shell, () =>
          json
            ? `${jsonText(listDocument(parts.streams), 2)}\n`
            : listLines(parts.streams, sizeOf(shell.stdout).columns)
                .map((line) => `${paintLine(line, Number.POSITIVE_INFINITY, shell.stdout)}\n`)
                .join(''),
        ),
      ),
    )
}

const addGraph = (program: Command, { shell, parts, act }: ProgramContext): void => {
  program
    .command('graph')
    .description('Prints the graph of a run as a Mermaid flowchart.')
    .addHelpText('after', exampleText(examples.graph))
    .action(() => act(printed(shell, () => graphOf(parts.streams))))
}

const printed = ({ stdout }: Shell, text: () => string): Observable<number> =>
  defer(() => {
    stdout.write(text())
    return of(0)
  })
