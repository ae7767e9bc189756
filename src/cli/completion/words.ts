import type { Argument, Command, Option } from 'commander'

/** What may follow an option, or stand for an argument. */
export interface Takes {
  readonly kind: 'nothing' | 'anything' | 'file' | 'folder' | 'word' | 'list'
  readonly words: readonly string[]
}

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

/** What can be typed, from the program as it is declared. Arguments called stream or streams are names of streams. */
export const wordsOf = (program: Command, streams: readonly string[]): readonly CommandWords[] =>
  program.commands.map((command) => ({
    name: command.name(),
    description: command.description(),
    options: command
      .createHelp()
      .visibleOptions(command)
      .map((option) => optionWords(option, streams)),
    arguments: command.registeredArguments.map((argument) => takesOf(argument.name(), argument, streams)),
  }))

const optionWords = (option: Option, streams: readonly string[]): OptionWords => {
  const { short, long, flags, description, optional, required } = option
  const placeholder = /[<[]([\w-]+)/.exec(flags)?.[1] ?? ''
  const takes: Takes = required || optional ? takesOf(placeholder, option, streams) : { kind: 'nothing', words: [] }
  return { names: [short, long].filter((name) => name !== undefined), description, takes, isOptional: optional }
}

const takesOf = (placeholder: string, { argChoices }: Pick<Option | Argument, 'argChoices'>, streams: readonly string[]): Takes => {
  if (argChoices !== undefined) return { kind: 'word', words: argChoices }
  if (placeholder === 'streams') return { kind: 'list', words: streams }
  if (placeholder === 'stream') return { kind: 'word', words: streams }
  if (/^(dir|folder)$/.test(placeholder)) return { kind: 'folder', words: [] }
  return { kind: placeholder === 'file' ? 'file' : 'anything', words: [] }
}
