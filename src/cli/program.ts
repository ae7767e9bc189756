import { Command, CommanderError, Help } from 'commander'
import { lastValueFrom } from 'rxjs'
import { formatError, StorageError, UsageError } from '../model/errors.js'
import { findClosest, suggest } from '../model/text.js'
import { createWall } from '../model/wall.js'
import { describeFileError, getErrorCode } from '../storage/file-system.js'
import { findModules, loadStreams, STREAMS_OPTION, takeStreamsOption } from './app-streams.js'
import type { AddCommand, CommandContext, Dependencies, ProcessIo } from './dependencies.js'
import { printError } from './hints.js'
import { exampleText, quoteValue, trimDistinct } from './options.js'
import { addRun } from './run/command.js'
import { printWarning } from './terminal/print.js'
import { guardStream, readSize } from './terminal/terminal.js'
import { foldHelp } from './terminal/text.js'

const examples = [
  ['scripstream run --simulate', 'all streams on simulated data, no setup needed'],
  ['scripstream run', 'all streams on your provider'],
  ['scripstream run --help', 'options and settings of a run'],
] as const

/** Commands whose result is not what they print. */
const GO_ON: readonly string[] = ['run', 'worker']

/**
 * Runs the typed command (`args` follow `scripstream`) and resolves to its exit code; never rejects. A stdout that cannot be written, such as
 * a file on a full disk, is a warning where a run goes on without it, otherwise an error.
 */
export const runProgram = async (args: readonly string[], given: Omit<ProcessIo, 'wall'>, dependencies: Dependencies): Promise<number> => {
  let goesOn = false
  let stdoutFailure: unknown
  const wall = createWall(describeFailure, (note) => goesOn && printWarning(`${note}; the run goes on without it`, stderr))
  const stderr = guardStream(given.stderr, (error) => wall.note('stderr', error))
  const stdout = guardStream(given.stdout, (error) => {
    stdoutFailure ??= error
    wall.note('stdout', error)
  })
  const onCommand = (name: string): void => {
    goesOn = GO_ON.includes(name)
  }
  const code = await runCommandLine(args, { io: { ...given, stdout, stderr, wall }, dependencies, onCommand })
  // The error of a write to a file follows it as an event.
  await new Promise(setImmediate)
  if (goesOn || stdoutFailure === undefined) return code
  return code || printError(new StorageError(describeFailure('stdout', stdoutFailure)), { stderr })
}

const describeFailure = (onlooker: string, error: unknown): string =>
  getErrorCode(error) === undefined
    ? `${onlooker} threw an error: ${formatError(error)}`
    : `${onlooker} cannot be written: ${describeFileError(error)}`

interface CommandLineContext extends Pick<CommandContext, 'io' | 'dependencies'> {
  readonly onCommand: (name: string) => void
}

const runCommandLine = async (args: readonly string[], { io, dependencies, onCommand }: CommandLineContext): Promise<number> => {
  let code = 0
  const act: CommandContext['act'] = async (code$) => {
    code = await lastValueFrom(code$, { defaultValue: 1 })
  }
  try {
    const { rest, files } = takeStreamsOption(args)
    const modules = findModules(rest, files, io.env)
    // Without a pause where there is nothing to load: a signal must find the command subscribed.
    const streams = modules.length === 0 ? dependencies.streams : await loadStreams(dependencies.streams, modules)
    // A run, which is what starts most often, compiles nothing of the other commands.
    const commands = rest[0] === 'run' ? [addRun] : (await import('./index.js')).commands
    const program = createProgram(commands, { args, io, dependencies: { ...dependencies, streams }, act })
    program.hook('preAction', (_, command) => onCommand(command.name()))
    await program.parseAsync([...normalizeHelp(rest, program)], { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    return printError(error, io)
  }
}

/** The commands for what other tools have as commands. */
const MEANT: Readonly<Record<string, string>> = { version: '--version', status: 'brief or log', config: 'init', settings: 'init' }

/** `help NAME` is `NAME --help`. @throws UsageError for an unknown command */
const normalizeHelp = (args: readonly string[], { commands: known }: Command): readonly string[] => {
  const isHelp = args[0] === 'help'
  const name = isHelp ? args[1] : args[0]
  if (name === undefined || name === 'help' || name.startsWith('-')) return isHelp ? ['--help'] : args
  const names = known.map((command) => command.name())
  if (!names.includes(name))
    throw new UsageError(
      `unknown command ${quoteValue(name)}${suggest(MEANT[name] ?? findClosest(name, names))}\n"scripstream --help" lists them all`,
    )
  return isHelp ? [name, '--help'] : args
}

/** @throws UsageError for arguments that the command does not take, such as the second one of `--symbols TCS INFY` */
const rejectExcess = (command: Command, typed: readonly string[]): void => {
  const known = command.registeredArguments
  const [excess, ...more] = known.at(-1)?.variadic ? [] : command.args.slice(known.length)
  if (excess === undefined) return
  const before = typed.slice(0, typed.indexOf(excess)).join(' ')
  const [, option, value = ''] = /(--(?:symbols|only|skip|accept))[= ](\S+)$/.exec(before) ?? []
  const list = trimDistinct([value, excess, ...more].join().split(',')).join()
  const why = `${command.name()}: unexpected argument ${quoteValue(excess)}; "scripstream ${command.name()} --help" shows what it takes`
  throw new UsageError(
    option === undefined ? why : `${option}: separate ${option === '--symbols' ? 'symbols' : 'names'} by commas: ${option} ${list}`,
  )
}

/** The program with its commands. */
export const createProgram = (commands: readonly AddCommand[], context: CommandContext): Command => {
  const { io, dependencies } = context
  const program = new Command('scripstream')
    .description('Collects data on Indian listed equities: one stream per data set, one command for the whole market.')
    .version(dependencies.version)
    .exitOverride()
    .allowExcessArguments()
    .hook('preAction', (_, command) => rejectExcess(command, context.args))
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
