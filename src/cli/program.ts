import { Command, CommanderError, Help } from 'commander'
import { lastValueFrom } from 'rxjs'
import { findModules, loadStreams, STREAMS_OPTION, takeStreamsOption } from './app-streams.js'
import type { CommandContext, Dependencies, ProcessIo } from './dependencies.js'
import { printError } from './hints.js'
import { commands } from './index.js'
import { exampleText } from './options.js'
import { readSize } from './terminal/terminal.js'
import { foldHelp } from './terminal/text.js'

const examples = [
  ['scripstream run --simulate', 'all streams on simulated data, no setup needed'],
  ['scripstream run', 'all streams on your provider'],
  ['scripstream run --help', 'options and settings of a run'],
] as const

/** Runs the typed command (`args` follow `scripstream`) and resolves to its exit code; never rejects. */
export const runProgram = async (args: readonly string[], io: ProcessIo, dependencies: Dependencies): Promise<number> => {
  let code = 0
  const act: CommandContext['act'] = async (code$) => {
    code = await lastValueFrom(code$, { defaultValue: 1 })
  }
  try {
    const { rest, files } = takeStreamsOption(args)
    const modules = findModules(rest, files, io.env)
    // Without a pause where there is nothing to load: a signal must find the command subscribed.
    const streams = modules.length === 0 ? dependencies.streams : await loadStreams(dependencies.streams, modules)
    const program = createProgram({ args, io, dependencies: { ...dependencies, streams }, act })
    await program.parseAsync([...normalizeHelp(rest, program)], { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    return printError(error, io)
  }
}

/** `help NAME` is `NAME --help`. An unknown command stands alone, so that commander refuses it and suggests the closest name. */
const normalizeHelp = (args: readonly string[], { commands: known }: Command): readonly string[] => {
  const isHelp = args[0] === 'help'
  const name = isHelp ? args[1] : args[0]
  if (name === undefined || name.startsWith('-')) return isHelp ? ['--help'] : args
  if (!known.some((command) => command.name() === name)) return [name]
  return isHelp ? [name, '--help'] : args
}

/** The program with all its commands. */
export const createProgram = (context: CommandContext): Command => {
  const { io, dependencies } = context
  const program = new Command('scripstream')
    .description('Collects data on Indian listed equities: one stream per data set, one command for the whole market.')
    .version(dependencies.version)
    .exitOverride()
    .showHelpAfterError('(--help lists commands and options)')
    // The descriptions say what an option without its value means.
    .configureHelp({ optionDescription: (option) => new Help().optionDescription(option).replace(/ \(preset: .*\)$/, '') })
    .configureOutput({
      writeOut: (text) => void io.stdout.write(foldHelp(text, readSize(io.stdout).columns)),
      writeErr: (text) => void io.stderr.write(foldHelp(text, readSize(io.stderr).columns)),
      getOutHelpWidth: () => readSize(io.stdout).columns,
      getErrHelpWidth: () => readSize(io.stderr).columns,
    })
    .addHelpText('after', exampleText(examples))
  for (const add of commands) add(program, context)
  for (const command of program.commands) if (command.name() !== 'completion') command.option(...STREAMS_OPTION)
  return program
}
