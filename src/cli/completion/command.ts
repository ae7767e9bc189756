import type { Argument, Command, Option } from 'commander'
import { sectionNames } from '../../analysis/diff/change.js'
import { checkNames } from '../../analysis/verify/finding.js'
import { refusalCodes } from '../../market/refusal-policy.js'
import { type AddCommand, succeed } from '../dependencies.js'
import { targetForms } from '../export/targets.js'
import { choiceArgument, exampleText } from '../options.js'
import { resolveSettings } from '../provider.js'
import { type Shell, scripts } from './scripts.js'

const examples = [
  ["echo 'source <(scripstream completion bash)' >> ~/.bashrc", 'bash: takes effect in new shells'],
  ["echo 'source <(scripstream completion zsh)' >> ~/.zshrc", 'zsh: add it after compinit; takes effect in new shells'],
  ['scripstream completion fish > ~/.config/fish/completions/scripstream.fish', 'fish: takes effect at once'],
] as const

export const addCompletion: AddCommand = (program, { io, dependencies, act }) => {
  const names = dependencies.streams.map(({ name }) => name)
  const known: Placeholders = {
    stream: { kind: 'word', words: names },
    streams: { kind: 'list', words: names },
    checks: { kind: 'list', words: checkNames },
    kinds: { kind: 'list', words: sectionNames },
    rules: { kind: 'list', words: refusalCodes },
    target: { kind: 'target', words: targetForms },
  }
  const listWatchlists = (): readonly string[] => {
    try {
      return Object.keys(resolveSettings({}, io, dependencies).watchlists).map((name) => `@${name}`)
    } catch {
      // The command itself says what is wrong with the settings.
      return []
    }
  }
  program
    .command('completion')
    .description('Prints a shell completion script for commands, options and their values.')
    .addArgument(choiceArgument('<shell>', 'name of the shell', Object.keys(scripts)))
    .argument('[words...]', 'what has been typed: prints what the script offers for it')
    .addHelpText('after', exampleText(examples))
    .action((shell: Shell, typed: readonly string[]) => {
      const text =
        typed.length === 0
          ? scripts[shell]
          : formatCompletion(complete(program, { ...known, symbols: { kind: 'symbols', words: listWatchlists() } }, typed), shell)
      return act(succeed(() => io.stdout.write(text)))
    })
}

/** The values of an option or an argument. */
interface Values {
  /**
   * `list`: several words, separated by commas. `target`: a word, or a file after one that ends in a colon. `symbols`: a word, or a file
   * after `@`.
   */
  readonly kind: 'word' | 'list' | 'file' | 'folder' | 'target' | 'symbols'
  readonly words: readonly string[]
}

/** The values of the placeholders of options and arguments, such as `streams` in `--only <streams>`. */
type Placeholders = Readonly<Record<string, Values>>

/** What a shell offers for the word that is being typed. */
interface Completion {
  readonly words: readonly (readonly [word: string, about: string])[]
  /** Whether it also offers files or folders, for the part of the word behind `before`. */
  readonly kind: 'words' | 'files' | 'folders'
  readonly before: string
}

/** Completes the last of the words that follow the name of the program. */
const complete = (program: Command, known: Placeholders, typed: readonly string[]): Completion => {
  const [word = '', last] = [typed.at(-1), typed.at(-2)]
  const command = program.commands.find((one) => one.name() === typed.slice(0, -1).find((name) => isCommand(program, name)))
  if (command === undefined) return offerWords(word, [...program.commands.map(describeCommand), ...GLOBAL_OPTIONS])
  const options = command.createHelp().visibleOptions(command)
  const [, flag] = /^(--[\w-]+)=/.exec(word) ?? []
  const option = options.find(({ short, long }) => [short, long].includes(flag ?? last))
  // A value that may be omitted must follow a `=`.
  if (option?.required || (option?.optional && flag !== undefined))
    return completeValue(word, flag === undefined ? '' : `${flag}=`, findValues(option.flags, option, known))
  const values = command.registeredArguments.map((argument) => findValues(`<${argument.name()}>`, argument, known))
  const long = options.flatMap((one) => (one.long ? [[one.long, one.description] as const] : []))
  return offerWords(word, [...values.flatMap((value) => (value?.words ?? []).map((text) => [text, ''] as const)), ...long])
}

/** The answer to the script of a shell. */
const formatCompletion = ({ words, kind, before }: Completion, shell: Shell): string => {
  const lines = words.map(([word, about]) => {
    if (shell === 'bash' || about === '') return shell === 'zsh' ? word.replaceAll(':', '\\:') : word
    return shell === 'zsh' ? `${word.replaceAll(':', '\\:')}:${about}` : `${word}\t${about}`
  })
  return [`${kind} ${before}`, ...lines, ''].join('\n')
}

const GLOBAL_OPTIONS = [
  ['--help', 'shows the help'],
  ['--version', 'shows the version'],
] as const

const isCommand = ({ commands }: Command, name: string): boolean => commands.some((command) => command.name() === name)

const describeCommand = (command: Command) => [command.name(), command.description()] as const

const offerWords = (word: string, words: Completion['words']): Completion => ({
  words: words.filter(([text]) => text.startsWith(word)),
  kind: 'words',
  before: '',
})

const findValues = (flags: string, { argChoices }: Pick<Option | Argument, 'argChoices'>, known: Placeholders): Values | undefined => {
  const placeholder = /[<[]([\w-]+)/.exec(flags)?.[1] ?? ''
  if (argChoices !== undefined) return { kind: 'word', words: argChoices }
  if (/^(dir|folder)$/.test(placeholder)) return { kind: 'folder', words: [] }
  return placeholder === 'file' ? { kind: 'file', words: [] } : known[placeholder]
}

/** `start` is the part of the word before the value: `--option=`. */
const completeValue = (word: string, start: string, values: Values | undefined): Completion => {
  if (values === undefined) return offerWords(word, [])
  const { kind, words } = values
  const listed = kind === 'list' ? word.slice(start.length, word.lastIndexOf(',') + 1) : ''
  const offered = offerWords(
    word,
    words.map((text) => [`${start}${listed}${text}`, ''] as const),
  )
  if (kind === 'folder') return { ...offered, kind: 'folders', before: start }
  if (kind === 'file') return { ...offered, kind: 'files', before: start }
  if (kind === 'symbols' && word.startsWith(`${start}@`)) return { ...offered, kind: 'files', before: `${start}@` }
  if (kind !== 'target') return offered
  if (word.slice(start.length).includes('://')) return offerWords(word, [])
  const scheme = words.find((text) => text.endsWith(':') && word.startsWith(`${start}${text}`)) ?? ''
  return { ...offered, kind: 'files', before: `${start}${scheme}` }
}
