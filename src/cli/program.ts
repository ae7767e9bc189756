import { Command, CommanderError, Help, Option } from 'commander'
import { lastValueFrom } from 'rxjs'
import { formatError, StorageError, UsageError } from '../model/errors.js'
import { findClosest, suggest } from '../model/text.js'
import { createWall } from '../model/wall.js'
import { describeFileError, getErrorCode } from '../storage/file-system.js'
import {
  findModules,
  loadStreams,
  putStreamsOption,
  STREAMS_OPTION,
  takeStreamsOption,
} from './app-streams.js'
import { createUsageError, rejectFormerName, throwInOwnWords } from './command.js'
import { adaptCommands } from './command-line.js'
import type { CommandContext, CommandGroups, Dependencies, ProcessIo } from './dependencies.js'
import { printError } from './hints.js'
import { exampleText, findStream, quoteValue, trimDistinct } from './options.js'
import { addRun } from './run/command.js'
import { guardStream, printWarning } from './terminal/terminal.js'
import { foldHelp } from './terminal/text.js'

const examples = [['scripstream run --simulate', 'all streams on simulated data, no setup needed']] as const

/** These report a module that cannot be loaded themselves, because they notify of it. */
const NOTIFYING: readonly string[] = ['run', 'verify', 'export']

const GO_ON: readonly string[] = ['run', 'worker']

/**
 * Runs the typed command (`args` follow `scripstream`) and resolves to its exit code; never rejects. A stdout
 * that cannot be written, such as a file on a full disk, is a warning where a run goes on without it,
 * otherwise an error.
 */
export const runProgram = async (
  args: readonly string[],
  given: Omit<ProcessIo, 'wall'>,
  dependencies: Dependencies,
): Promise<number> => {
  let goesOn = false
  let stdoutFailure: unknown
  const wall = createWall(
    describeFailure,
    (note) => goesOn && printWarning(`${note}; the run goes on without it`, stderr),
  )
  const stderr = guardStream(given.stderr, (error) => wall.note('stderr', error))
  const stdout = guardStream(given.stdout, (error) => {
    stdoutFailure ??= error
    wall.note('stdout', error)
  })
  const code = await runCommandLine(
    args,
    { io: { ...given, stdout, stderr, wall }, dependencies },
    (name) => {
      goesOn = GO_ON.includes(name)
    },
  )
  // The error of a write to a file follows it as an event.
  await new Promise(setImmediate)
  if (goesOn || stdoutFailure === undefined) return code
  return code || printError(new StorageError(describeFailure('stdout', stdoutFailure)), { stderr })
}

const describeFailure = (onlooker: string, error: unknown): string =>
  getErrorCode(error) === undefined
    ? `${onlooker} threw an error: ${formatError(error)}`
    : `${onlooker} cannot be written: ${describeFileError(error)}`

const runCommandLine = async (
  args: readonly string[],
  { io, dependencies }: Pick<CommandContext, 'io' | 'dependencies'>,
  onCommand: (name: string) => void,
): Promise<number> => {
  let code = 0
  const act: CommandContext['act'] = async (code$) => {
    code = await lastValueFrom(code$, { defaultValue: 1 })
  }
  try {
    const { rest: typed, values: files } = takeStreamsOption(args)
    // A statement may begin with a comment of SQL, which is no option.
    const rest = typed.map((arg) => (/^--\s/.test(arg) ? ` ${arg}` : arg))
    const added = addStreams(rest, files, { io, dependencies })
    // Without a pause where there is nothing to load: a signal must find the command subscribed.
    const withStreams = added instanceof Promise ? await added : added
    // A run, which is what starts most often, compiles nothing of the other commands.
    const commands = rest[0] === 'run' ? { 'Collect:': [addRun] } : (await import('./index.js')).commands
    const program = createProgram(commands, {
      args: putStreamsOption(rest, files),
      io,
      dependencies: withStreams,
      act,
    })
    program.hook('preAction', (_, command) => onCommand(command.name()))
    const topic =
      rest[0] === 'help' && rest.length === 2
        ? (await import('./topics.js')).topics[rest[1] ?? '']
        : undefined
    if (topic) program.configureOutput().writeOut?.(`${topic(program, dependencies).join('\n')}\n`)
    else await program.parseAsync([...normalizeHelp(rest, program, withStreams.streams)], { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    return printError(error, io)
  }
}

/**
 * The dependencies with the streams of the user; without, and with the reason, for a command that reports it
 * itself.
 */
const addStreams = (
  args: readonly string[],
  files: readonly string[],
  { io, dependencies }: Pick<CommandContext, 'io' | 'dependencies'>,
): Dependencies | Promise<Dependencies> => {
  const keep = (failure: unknown): Dependencies => {
    if (!NOTIFYING.includes(args[0] ?? '')) throw failure
    return { ...dependencies, failure }
  }
  try {
    const modules = findModules(args, files, io.env)
    if (modules.length === 0) return dependencies
    return loadStreams(dependencies.streams, modules).then((streams) => ({ ...dependencies, streams }), keep)
  } catch (error) {
    return keep(error)
  }
}

const MEANT: Readonly<Record<string, string>> = {
  '--version': 'version',
  'brief or history --runs': 'status state summary today',
  'init or help settings': 'config configure settings setup',
  run: 'start collect fetch download update sync refresh',
  verify: 'check validate',
  doctor: 'test ping health',
  'run --dry-run': 'estimate dry-run',
  diff: 'changes compare',
  query: 'sql select tables screener',
  serve: 'page web ui dashboard',
  'history --runs': 'runs logs',
  history: 'days delete prune compact',
  schedule: 'cron timer',
  list: 'streams ls',
  show: 'stock quote price',
  'show SYMBOL, query or export': 'candles ohlcv prices history-data',
  export: 'load csv excel xlsx',
  completion: 'complete autocomplete',
  'history delete': 'rm remove',
}

/** `help NAME` is `NAME --help`. @throws UsageError for an unknown command */
const normalizeHelp = (
  args: readonly string[],
  { commands: known }: Command,
  streams: Dependencies['streams'],
): readonly string[] => {
  const isHelp = args[0] === 'help'
  const name = isHelp ? args[1] : args[0]
  if (name === undefined || name === 'help' || name.startsWith('-')) return isHelp ? ['--help'] : args
  const names = known.map((command) => command.name())
  if (!names.includes(name)) {
    rejectFormerName(name)
    const [synonym] = Object.entries(MEANT).find(([, words]) => words.split(' ').includes(name)) ?? []
    const stream = findStream(name, streams)
    const meant =
      synonym ?? findClosest(name, names) ?? (stream === undefined ? undefined : `stream ${stream}`)
    throw new UsageError(
      `unknown command ${quoteValue(name)}${suggest(meant)}\n"scripstream --help" lists them all`,
    )
  }
  return isHelp ? [name, '--help'] : args
}

/**
 * @throws UsageError for arguments that the command does not take, such as the second one of `--symbols TCS
 * INFY`
 */
const rejectExcess = (command: Command, typed: readonly string[]): void => {
  const known = command.registeredArguments
  const [excess, ...more] = known.at(-1)?.variadic ? [] : command.args.slice(known.length)
  if (excess === undefined) return
  const before = typed.slice(0, typed.indexOf(excess)).join(' ')
  const [, option, value = ''] = /(--(?:symbols|only|skip|accept))[= ](\S+)$/.exec(before) ?? []
  const list = trimDistinct([value, excess, ...more].join().split(',')).join()
  const what = option === '--symbols' ? 'symbols' : 'names'
  throw option === undefined
    ? createUsageError(`${command.name()}: unexpected argument ${quoteValue(excess)}`, command)
    : new UsageError(`${option}: separate ${what} by commas: ${option} ${list}`)
}

const HELP_COLUMNS = 80

const firstClause = (text: string): string => {
  const sentence = text.replace(/[:;.] .*/, '.')
  return sentence.length <= 60 ? sentence : sentence.replace(/, .*/, '.')
}

export const createProgram = (groups: CommandGroups, context: CommandContext): Command => {
  const { io, dependencies } = context
  // Prose is folded in a pipe, too.
  const helpColumns = io.stdout.columns || HELP_COLUMNS
  const program = new Command('scripstream')
    .description('Collects data on Indian listed equities, one stream per data set.')
    .version(dependencies.version)
    .exitOverride((error) => throwInOwnWords(error, program))
    .allowExcessArguments()
    .hook('preAction', (_, command) => rejectExcess(command, context.args))
    .configureHelp({
      subcommandTerm: (command) => command.name(),
      subcommandDescription: (command) => firstClause(command.description()),
      // The descriptions say what an option without its value means.
      optionDescription: (option) => new Help().optionDescription(option).replace(/ \(preset: .*\)$/, ''),
    })
    .helpCommand(false)
    .configureOutput({
      writeOut: (text) => void io.stdout.write(foldHelp(adaptCommands(text), helpColumns)),
      writeErr: (text) => void io.stderr.write(foldHelp(adaptCommands(text), helpColumns)),
      getOutHelpWidth: () => helpColumns,
      getErrHelpWidth: () => helpColumns,
      // Errors of the parser are printed as all others.
      outputError: () => undefined,
    })
    // It is taken from the arguments before they are read: other options name streams.
    .option(...STREAMS_OPTION)
    .addHelpText('after', `${exampleText(examples)}\nMore: scripstream help settings (or exit-codes, checks)`)
  for (const [heading, commands] of Object.entries(groups)) {
    program.commandsGroup(heading)
    for (const add of commands) add(program, context)
  }
  for (const command of program.commands)
    command.addHelpOption(new Option('-h, --help', 'shows this help').hideHelp())
  return program
}
