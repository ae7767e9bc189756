import { readFileSync } from 'node:fs'
import type { Argument, Command, Option } from 'commander'
import { firstValueFrom } from 'rxjs'
import { readStoredStocks } from '../market/listings.js'
import { refusalCodes } from '../market/refusal-policy.js'
import { sectionNames } from '../model/change.js'
import { checkNames } from '../verify/finding.js'
import { defineCommand, type Input } from './command.js'
import type { AddCommand } from './dependencies.js'
import { targetForms } from './export/targets.js'
import { choiceArgument } from './options.js'
import { resolveSettings } from './provider.js'
import { isRareFlag } from './topics.js'

/**
 * Each script asks the command what fits the words typed so far, a line each. Without an answer, the shell
 * offers files.
 */
const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

export const addCompletion: AddCommand = (program, context) => {
  defineCommand({
    name: 'completion',
    about: 'Prints a shell completion script for commands, options and their values.',
    args: [
      choiceArgument('<shell>', 'name of the shell', SHELLS),
      ['[words...]', 'what has been typed: prints what the script offers for it'],
    ],
    flags: () => ({}),
    examples: [
      ['echo "source <(scripstream completion bash)" >> ~/.bashrc', 'bash: takes effect in new shells'],
      [
        'echo "source <(scripstream completion zsh)" >> ~/.zshrc',
        'zsh: add it after compinit; takes effect in new shells',
      ],
      [
        'scripstream completion fish > ~/.config/fish/completions/scripstream.fish',
        'fish: takes effect at once',
      ],
    ],
    notes: ['Shells complete the word scripstream: in a clone, make it a command with "npm link".'],
    run: async (_, input) => {
      const [shell, typed] = input.typed as unknown as readonly [Shell, readonly string[]]
      if (typed.length === 0)
        return { text: readFileSync(new URL(`./shells/scripstream.${shell}`, import.meta.url), 'utf8') }
      return { text: formatWords(complete(program, await listKnown(input, typed), typed), shell) }
    },
  })(program, context)
}

/**
 * Words by the placeholders of options and arguments, such as `streams` in `--only <streams>`. Those in the
 * plural take a list.
 */
const listKnown = async (
  { io, dependencies }: Input,
  typed: readonly string[],
): Promise<Readonly<Record<string, readonly string[]>>> => {
  const names = dependencies.streams.map(({ name }) => name)
  const findValue = (flag: RegExp): string | undefined =>
    typed[typed.findIndex((word) => flag.test(word)) + 1 || typed.length]
  const [out, config] = [findValue(/^(?:--out|-q?o)$/), findValue(/^--config$/)]
  const { watchlists, stocks, queries } = await readFolder({ out, config }, io, dependencies).catch(
    () => NOTHING_KNOWN,
  )
  return {
    stream: names,
    streams: names,
    checks: checkNames,
    kinds: sectionNames,
    rules: refusalCodes,
    target: targetForms,
    symbols: [...watchlists, ...stocks],
    stock: stocks,
    statement: queries,
  }
}

/** The command itself says what is wrong with settings or folder. */
const NOTHING_KNOWN = { watchlists: [], stocks: [], queries: [] }

const readFolder = async (
  flags: Parameters<typeof resolveSettings>[0],
  io: Input['io'],
  dependencies: Input['dependencies'],
) => {
  const settings = resolveSettings(flags, io, dependencies)
  const stocks = await firstValueFrom(readStoredStocks(dependencies.storage(settings).stored))
  const { listSavedQueries } = await import('../tables/saved-queries.js')
  const { workedQueries } = await import('../tables/worked-queries.js')
  return {
    watchlists: Object.keys(settings.watchlists).map((name) => `@${name}`),
    stocks: stocks.map(({ Symbol: symbol }) => symbol),
    queries: [...(await listSavedQueries(settings.out)), ...workedQueries].map(({ name }) => name),
  }
}

type Offers = readonly (readonly [word: string, about: string])[]

/**
 * What may replace the last of the words that follow the name of the program; nothing where a file may
 * follow.
 */
const complete = (
  program: Command,
  known: Readonly<Record<string, readonly string[]>>,
  typed: readonly string[],
): Offers => {
  const [word = '', last] = [typed.at(-1), typed.at(-2)]
  const command = typed
    .slice(0, -1)
    .flatMap((name) => program.commands.find((one) => one.name() === name) ?? [])[0]
  const offer = (words: Offers): Offers => words.filter(([text]) => text.startsWith(word))
  if (command === undefined)
    return offer([
      ...program.commands.map((one) => [one.name(), one.description()] as const),
      ['--help', 'shows the help'] as const,
      ['--version', 'shows the version'] as const,
    ])
  const find = (name: string, { argChoices }: Pick<Option | Argument, 'argChoices'>) =>
    argChoices ?? known[name] ?? []
  const options = command.options.filter((one) => !one.hidden || isRareFlag(one))
  const [, flag] = /^(--[\w-]+)=/.exec(word) ?? []
  const option = command.options.find(({ short, long }) => [short, long].includes(flag ?? last))
  // A value that may be omitted must follow a `=`.
  if (option?.required || (option?.optional && flag !== undefined)) {
    const [, name = ''] = /[<[]([\w-]+)/.exec(option.flags) ?? []
    const start = flag === undefined ? '' : `${flag}=`
    const listed = name.endsWith('s') ? word.slice(start.length, word.lastIndexOf(',') + 1) : ''
    return offer(find(name, option).map((text) => [`${start}${listed}${text}`, '']))
  }
  return offer([
    ...command.registeredArguments
      .flatMap((argument) => find(argument.name(), argument))
      .map((text) => [text, ''] as const),
    ...options.flatMap((one) => (one.long ? [[one.long, one.description] as const] : [])),
  ])
}

const formatWords = (words: Offers, shell: Shell): string =>
  words
    .map(([word, about]) => {
      const text = shell === 'zsh' ? word.replaceAll(':', '\\:') : word
      return `${shell === 'bash' || about === '' ? text : `${text}${shell === 'zsh' ? ':' : '\t'}${about}`}\n`
    })
    .join('')
