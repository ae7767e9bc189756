import type { Argument, Command, CommanderError } from 'commander'
import { defer, map, type ObservableInput } from 'rxjs'
import { UsageError } from '../model/errors.js'
import { joinWords } from '../model/format.js'
import type { Settings } from '../model/settings.js'
import { findClosest, suggest } from '../model/text.js'
import type { AddCommand, CommandContext } from './dependencies.js'
import { describeInstall } from './hints.js'
import { exampleText, type Flag, type Flags, quoteValue } from './options.js'
import {
  nameOrigin,
  resolveNotifySettings,
  resolveOrigins,
  resolveSettings,
  type SettingFlags,
} from './provider.js'
import { toExitCode, untilSignal } from './signals.js'
import { type AnswerLine, printJson, printLines } from './terminal/terminal.js'

export type FlagValues<All extends Flags> = {
  readonly [Name in keyof All]: All[Name] extends Flag<infer Value> ? Value : never
}

/**
 * What a command answers: a document for `--json`, else lines for people or a text, and its exit code (0 by
 * default). A number is an exit code alone.
 */
export type Answer =
  | number
  | {
      readonly json?: unknown
      readonly lines?: () => readonly AnswerLine[]
      readonly text?: string
      readonly code?: number
    }

export interface Input extends Pick<CommandContext, 'io' | 'dependencies' | 'args'> {
  readonly typed: readonly (string | undefined)[]
  /** The settings, with `--out` and `--config`. @throws UsageError if they are wrong */
  readonly settings: () => Settings
  /** Those that a notification needs, also where others are wrong. */
  readonly notifySettings: () => Settings
}

interface CommandSpec<All extends Flags> {
  readonly name: string
  readonly about: string
  readonly args?: readonly (Argument | readonly [name: string, about: string])[]
  readonly flags: (context: CommandContext) => All
  readonly examples: readonly (readonly [command: string, note: string])[]
  readonly notes?: readonly string[]
  readonly needs?: readonly string[]
  readonly exits?: Readonly<Record<number, string>>
  /**
   * Whether a signal unsubscribes from the command, and then ends the process at once if it may have unread
   * output; otherwise it only ends the process.
   */
  readonly endsBySignal?: boolean | 'at once'
  readonly interrupted?: string
  readonly run: (flags: FlagValues<All>, input: Input) => ObservableInput<Answer>
}

export const defineCommand =
  <All extends Flags>(spec: CommandSpec<All>): AddCommand =>
  (program, context) => {
    const { io, dependencies, args } = context
    const { exits = {}, notes = [], needs = [], endsBySignal = false, interrupted = '' } = spec
    const command = program.command(spec.name).description(spec.about)
    for (const arg of spec.args ?? []) 'join' in arg ? command.argument(...arg) : command.addArgument(arg)
    for (const [name, one] of Object.entries(spec.flags(context))) {
      if (one.attributeName() !== name) throw new Error(`${spec.name}: ${one.flags} is declared as ${name}`)
      command.addOption(one)
    }
    const packages = needs.length === 0 ? [] : [`Needs packages: ${describeInstall(needs)}`]
    command.addHelpText('after', () =>
      [exampleText(spec.examples), ...notes, ...packages, exitText(exits)].join('\n'),
    )
    command.exitOverride((error) => throwInOwnWords(error, command, spec.examples[0]?.[0]))
    command.action((...all: readonly unknown[]) => {
      const typed = all.slice(0, command.registeredArguments.length) as Input['typed']
      const values = all[typed.length] as FlagValues<All> & SettingFlags & { readonly json?: boolean }
      const given = { out: values.out, config: values.config, with: values.with }
      const settings = (): Settings => resolveSettings(given, io, dependencies)
      const notifySettings = (): Settings => resolveNotifySettings(given, io, dependencies)
      const answer$ = defer(() =>
        spec.run(values, { io, dependencies, args, typed, settings, notifySettings }),
      ).pipe(nameOrigin(() => resolveOrigins(values, io, dependencies)))
      const end$ = endsBySignal ? answer$.pipe(untilSignal(io.signal$)) : answer$
      return context.act(
        end$.pipe(
          map((end) => {
            if (typeof end === 'string') {
              io.stderr.write(interrupted)
              if (endsBySignal === 'at once') io.exit(toExitCode(end))
              return toExitCode(end)
            }
            if (typeof end === 'number') return end
            if (values.json && end.json !== undefined) printJson(end.json, io.stdout)
            else if (end.lines) printLines(end.lines(), io.stdout)
            else io.stdout.write(end.text ?? '')
            return end.code ?? 0
          }),
        ),
      )
    })
  }

export const createUsageError = (text: string, command: Command): UsageError => {
  const name = command.parent === null ? '' : ` ${command.name()}`
  return new UsageError(`${text}\n"scripstream${name} --help" shows all options`)
}

/** Commands and options of earlier versions, and what to use now. */
export const formerNames: ReadonlyMap<string, string> = new Map([
  ['audit', 'audit is now verify --backtest'],
  ['drift', 'drift is now verify --drift'],
  ['graph', 'graph is now list --graph'],
  ['lake', 'lake is now export: "scripstream export" without --to writes the lake'],
  ['log', 'log is now history --runs'],
  ['report', 'report is now brief --format html'],
  ['plan', 'plan is now run --dry-run'],
  ['brief --no-verify', '--no-verify is gone: brief always has the new findings'],
  ['history --before', '--before is gone: scripstream history prune DAY'],
  ['history --limit', '--limit is gone: the newest 20 are shown, and --json has all'],
  ['init --print', '--print is gone: scripstream init --config -'],
  ['query --file', '--file is gone: scripstream query - < FILE'],
  ['query -f', '-f is gone: scripstream query - < FILE'],
  ['query --rows', '--rows is gone: --format csv has all rows'],
  ['run --accept-shrink', '--accept-shrink is now --accept shrink'],
  ['run --retry-failed', '--retry-failed is gone: run again; it requests what is missing'],
  ['schedule --print', '--print is gone: scripstream schedule SCHEDULER'],
  ['verify --history', '--history is now part of verify --deep'],
  ['verify --limit', '--limit is gone: --all shows all findings'],
  ['verify --reason', '--reason is gone: verify --accept "the reason"'],
  ['watch --rules', '--rules is gone: scripstream watch rules'],
])

/** @throws UsageError for a former name, with what to use now */
export const rejectFormerName = (name: string): void => {
  const sentence = formerNames.get(name)
  if (sentence !== undefined) throw new UsageError(sentence)
}

/** Throws an error of the parser as a `UsageError`, in the words of all others. The end of a help is none. */
export const throwInOwnWords = (error: CommanderError, command: Command, example = ''): never => {
  if (error.exitCode === 0 || error.code === 'commander.help') throw error
  if (error.code === 'commander.unknownOption')
    rejectFormerName(`${command.name()} ${toFlag(readQuoted(error))}`)
  throw createUsageError(describeParserError(error, command, example), command)
}

/** The flag of an argument, which may hold its value. */
const toFlag = (typed: string): string => typed.replace(/=.*/s, '').replace(/^(-\w).*/s, '$1')

const readQuoted = ({ message }: CommanderError): string => /'([^']*)'/.exec(message)?.[1] ?? ''

const describeParserError = (error: CommanderError, command: Command, example: string): string => {
  const { code, message } = error
  const typed = readQuoted(error)
  const [long = typed, other = ''] = message.match(/--[\w-]+/g) ?? []
  const { argChoices } = command.options.find((option) => option.long === long) ?? {}
  const known = command.options.flatMap((option) => option.long?.slice(2) ?? [])
  const meant = typed.startsWith('--') ? findClosest(typed.slice(2), known) : undefined
  switch (code) {
    case 'commander.unknownOption':
      return `unknown option ${quoteValue(typed)}${suggest(meant && `--${meant}`)}`
    case 'commander.missingArgument':
      return `${command.name()}: ${typed.toUpperCase()} is missing; for example: ${example}`
    case 'commander.missingMandatoryOptionValue':
      return argChoices
        ? `${long} is missing; use ${long} ${joinWords(argChoices, 'or')}`
        : `${long} is missing; for example: ${example}`
    case 'commander.optionMissingArgument':
      return `${long}: its value is missing; write ${typed.replace(/^-\w, /, '')}`
    case 'commander.conflictingOption':
      return `${long} and ${other} exclude each other`
    default:
      return message.replace(/^error: /, '')
  }
}

export const EXIT_CODES: Readonly<Record<string, string>> = {
  0: 'done; a run is complete',
  1: 'a file or folder cannot be read or written, another run is using it, or the master list failed',
  2: 'wrong usage or configuration, a missing package, or an unusable Redis',
  3: 'finished, but something is missing, or answers have changed',
  4: 'verify: more new findings than the setting "verify" allows',
  '130, 143, 129': 'interrupted by Ctrl+C, TERM or a closed terminal; the same command resumes a run',
}

const exitText = (own: Readonly<Record<number, string>>): string => {
  const all = { 0: 'done', 1: 'an error of files or network', 2: 'wrong usage or configuration', ...own }
  const texts = Object.entries(all).map(([code, meaning]) => `${code} ${meaning}`)
  return `Exit codes: ${texts.join('; ')} ("scripstream help exit-codes")`
}
