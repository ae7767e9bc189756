import type { Argument, Command, Option } from 'commander'

/** The value of an option or an argument. */
export interface ValueSpec {
  readonly kind: 'nothing' | 'anything' | 'file' | 'folder' | 'word' | 'list' | 'target'
  /** The choices; of a target its possible prefixes: a path follows one that ends in a colon. */
  readonly words: readonly string[]
}

/** The values of the placeholders of options and arguments, such as `streams` in `--only <streams>`. */
export type Placeholders = Readonly<Record<string, ValueSpec>>

export interface OptionWords {
  /** `-h` and `--help`. */
  readonly names: readonly string[]
  readonly description: string
  readonly takes: ValueSpec
  /** Whether the value may be omitted; such a value must follow a `=`. */
  readonly isOptional: boolean
}

export interface CommandWords {
  readonly name: string
  readonly description: string
  readonly options: readonly OptionWords[]
  readonly arguments: readonly ValueSpec[]
}

/** Lists all commands, options and values that the program declares. */
export const describeCommands = (program: Command, known: Placeholders): readonly CommandWords[] =>
  program.commands.map((command) => ({
    name: command.name(),
    description: command.description(),
    options: command
      .createHelp()
      .visibleOptions(command)
      .map((option) => describeOption(option, known)),
    arguments: command.registeredArguments.map((argument) => describeValue(argument.name(), argument, known)),
  }))

const describeOption = (option: Option, known: Placeholders): OptionWords => {
  const { short, long, flags, description, optional, required } = option
  const placeholder = /[<[]([\w-]+)/.exec(flags)?.[1] ?? ''
  const takes: ValueSpec = required || optional ? describeValue(placeholder, option, known) : { kind: 'nothing', words: [] }
  return { names: [short, long].filter((name) => name !== undefined), description, takes, isOptional: optional }
}

const describeValue = (placeholder: string, { argChoices }: Pick<Option | Argument, 'argChoices'>, known: Placeholders): ValueSpec => {
  if (argChoices !== undefined) return { kind: 'word', words: argChoices }
  if (/^(dir|folder)$/.test(placeholder)) return { kind: 'folder', words: [] }
  return known[placeholder] ?? { kind: placeholder === 'file' ? 'file' : 'anything', words: [] }
}
