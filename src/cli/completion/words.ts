import type { Argument, Command, Option } from 'commander'

/** What may follow an option, or stand for an argument. */
export interface Takes {
  readonly kind: 'nothing' | 'anything' | 'file' | 'folder' | 'word' | 'list' | 'target'
  /** What there is to choose from; of a target how it may begin: a path follows what ends in a colon. */
  readonly words: readonly string[]
}

/** What the placeholders of options and arguments stand for, such as the `streams` of `--only <streams>`. */
export type Placeholders = Readonly<Record<string, Takes>>

export interface OptionWords {
  /** `-h` and `--help`. */
  readonly names: readonly string[]
  readonly description: string
  readonly takes: Takes
  /** Whether its value may be left out; then it can only come behind a `=`. */
  readonly isOptional: boolean
}

export interface CommandWords {
  readonly name: string
  readonly description: string
  readonly options: readonly OptionWords[]
  readonly arguments: readonly Takes[]
}

/** What can be typed, from the program as it is declared. */
export const wordsOf = (program: Command, known: Placeholders): readonly CommandWords[] =>
  program.commands.map((command) => ({
    name: command.name(),
    description: command.description(),
    options: command
      .createHelp()
      .visibleOptions(command)
      .map((option) => optionWords(option, known)),
    arguments: command.registeredArguments.map((argument) => takesOf(argument.name(), argument, known)),
  }))

const optionWords = (option: Option, known: Placeholders): OptionWords => {
  const { short, long, flags, description, optional, required } = option
  const placeholder = /[<[]([\w-]+)/.exec(flags)?.[1] ?? ''
  const takes: Takes = required || optional ? takesOf(placeholder, option, known) : { kind: 'nothing', words: [] }
  return { names: [short, long].filter((name) => name !== undefined), description, takes, isOptional: optional }
}

const takesOf = (placeholder: string, { argChoices }: Pick<Option | Argument, 'argChoices'>, known: Placeholders): Takes => {
  if (argChoices !== undefined) return { kind: 'word', words: argChoices }
  if (/^(dir|folder)$/.test(placeholder)) return { kind: 'folder', words: [] }
  return known[placeholder] ?? { kind: placeholder === 'file' ? 'file' : 'anything', words: [] }
}
