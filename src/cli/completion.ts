import type { Argument, Command, Option } from 'commander'
import { firstValueFrom } from 'rxjs'
import { readStoredStocks } from '../market/listings.js'
import { refusalCodes } from '../market/refusal-policy.js'
import { sectionNames } from '../tables/diff/change.js'
import { checkNames } from '../verify/finding.js'
import { defineCommand, type Input } from './command.js'
import type { AddCommand } from './dependencies.js'
import { targetForms } from './export/targets.js'
import { choiceArgument } from './options.js'
import { resolveSettings } from './provider.js'
import { isRare } from './topics.js'

export const addCompletion: AddCommand = (program, context) => {
  const shells = Object.keys(scripts)
  defineCommand({
    name: 'completion',
    about: 'Prints a shell completion script for commands, options and their values.',
    args: [
      choiceArgument('<shell>', 'name of the shell', shells),
      ['[words...]', 'what has been typed: prints what the script offers for it'],
    ],
    flags: () => ({}),
    examples: [
      ["echo 'source <(scripstream completion bash)' >> ~/.bashrc", 'bash: takes effect in new shells'],
      ["echo 'source <(scripstream completion zsh)' >> ~/.zshrc", 'zsh: add it after compinit; takes effect in new shells'],
      ['scripstream completion fish > ~/.config/fish/completions/scripstream.fish', 'fish: takes effect at once'],
    ],
    run: async (_, input) => {
      const [shell, typed] = input.typed as unknown as readonly [Shell, readonly string[]]
      if (typed.length === 0) return { text: scripts[shell] }
      return { text: formatCompletion(complete(program, await listKnown(input, typed), typed), shell) }
    },
  })(program, context)
}

interface Values {
  /**
   * `list`: several words, separated by commas. `target`: a word, or a file after one that ends in a colon. `symbols`: a list, or a file
   * after `@`.
   */
  readonly kind: 'word' | 'list' | 'file' | 'folder' | 'target' | 'symbols'
  readonly words: readonly string[]
}

const listKnown = async ({ io, dependencies }: Input, typed: readonly string[]): Promise<Readonly<Record<string, Values>>> => {
  const names = dependencies.streams.map(({ name }) => name)
  const [out, config] = ['--out', '--config'].map((flag) => (typed.includes(flag) ? typed[typed.indexOf(flag) + 1] : undefined))
  const { watchlists, stocks, queries } = await readFolder({ out, config }, io, dependencies).catch(() => NOTHING_KNOWN)
  return {
    ...{ stream: { kind: 'word', words: names }, streams: { kind: 'list', words: names }, checks: { kind: 'list', words: checkNames } },
    ...{ kinds: { kind: 'list', words: sectionNames }, rules: { kind: 'list', words: refusalCodes } },
    ...{ target: { kind: 'target', words: targetForms }, symbols: { kind: 'symbols', words: [...watchlists, ...stocks] } },
    ...{ stock: { kind: 'word', words: stocks }, statement: { kind: 'word', words: queries } },
    ...{ dir: { kind: 'folder', words: [] }, file: { kind: 'file', words: [] } },
  }
}

/** The command itself says what is wrong with settings or folder. */
const NOTHING_KNOWN = { watchlists: [], stocks: [], queries: [] }

const readFolder = async (flags: Parameters<typeof resolveSettings>[0], io: Input['io'], dependencies: Input['dependencies']) => {
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

interface Completion {
  readonly words: readonly (readonly [word: string, about: string])[]
  /** Whether it also offers files or folders, for the part of the word behind `before`. */
  readonly kind?: 'files' | 'folders'
  readonly before?: string
}

/** Completes the last of the words that follow the name of the program. */
const complete = (program: Command, known: Readonly<Record<string, Values>>, typed: readonly string[]): Completion => {
  const [word = '', last] = [typed.at(-1), typed.at(-2)]
  const command = typed.slice(0, -1).flatMap((name) => program.commands.find((one) => one.name() === name) ?? [])[0]
  const offer = (words: Completion['words']): Completion => ({ words: words.filter(([text]) => text.startsWith(word)) })
  if (command === undefined)
    return offer([
      ...program.commands.map((one) => [one.name(), one.description()] as const),
      ['--help', 'shows the help'],
      ['--version', 'shows the version'],
    ])
  const find = (flags: string, { argChoices }: Pick<Option | Argument, 'argChoices'>): Values =>
    argChoices ? { kind: 'word', words: argChoices } : (known[/[<[]([\w-]+)/.exec(flags)?.[1] ?? ''] ?? { kind: 'word', words: [] })
  const options = command.options.filter((one) => !one.hidden || isRare(one))
  const [, flag] = /^(--[\w-]+)=/.exec(word) ?? []
  const option = command.options.find(({ short, long }) => [short, long].includes(flag ?? last))
  // A value that may be omitted must follow a `=`.
  if (option?.required || (option?.optional && flag !== undefined)) {
    const start = flag === undefined ? '' : `${flag}=`
    const values = find(option.flags, option)
    const { before, listed = '', kind } = findPlace(word, start, values)
    const isAddress = values.kind === 'target' && word.includes('://')
    return {
      ...offer(isAddress ? [] : values.words.map((text) => [`${start}${listed}${text}`, ''])),
      ...(isAddress ? {} : { before, kind }),
    }
  }
  const values = command.registeredArguments.flatMap((argument) => find(`<${argument.name()}>`, argument).words)
  return offer([
    ...values.map((text) => [text, ''] as const),
    ...options.flatMap((one) => (one.long ? [[one.long, one.description] as const] : [])),
  ])
}

/** Where the typed value begins in a word: behind the option (`start`), the last comma, the `@` of a file, or the scheme of a target. */
const findPlace = (
  word: string,
  start: string,
  { kind, words }: Values,
): { listed?: string; before?: string; kind?: 'files' | 'folders' } => {
  if (kind === 'symbols' && word.startsWith(`${start}@`)) return { kind: 'files', before: `${start}@` }
  if (kind === 'list' || kind === 'symbols') return { listed: word.slice(start.length, word.lastIndexOf(',') + 1) }
  if (kind === 'folder') return { kind: 'folders', before: start }
  if (kind === 'file') return { kind: 'files', before: start }
  const scheme = words.find((text) => text.endsWith(':') && word.startsWith(`${start}${text}`)) ?? ''
  return kind === 'target' ? { kind: 'files', before: `${start}${scheme}` } : {}
}

const formatCompletion = ({ words, kind, before = '' }: Completion, shell: Shell): string => {
  const lines = words.map(([word, about]) => {
    const text = shell === 'zsh' ? word.replaceAll(':', '\\:') : word
    return shell === 'bash' || about === '' ? text : `${text}${shell === 'zsh' ? ':' : '\t'}${about}`
  })
  return [`${kind ?? 'words'} ${before}`, ...lines, ''].join('\n')
}

// Each script asks the command what fits the words typed so far, and adds files or folders where it says so. The first line of the answer is
// `words`, `files` or `folders`, and the part of the last word that precedes a path (`duckdb:`); the others are what to offer.

/** For bash, from 3.2 on. */
const bash = `# Completion of scripstream for bash. Generated by: scripstream completion bash
_scripstream() {
  local IFS=$'\\n' cur=\${COMP_WORDS[COMP_CWORD]} word='' before='' i
  local -a typed=() answer=()
  # bash splits --option=value and scheme:path into three words, and @name into two.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    if [[ $i -gt 1 && (\${COMP_WORDS[i]} == [=:]* || \${COMP_WORDS[i - 1]} == [=:@]*) ]]; then
      typed[\${#typed[@]} - 1]+=\${COMP_WORDS[i]}
    else
      typed+=("\${COMP_WORDS[i]}")
    fi
  done
  [[ $cur != [=:@]* ]] || cur=''
  word=\${typed[\${#typed[@]} - 1]}
  # shellcheck disable=SC2207 # bash 3.2 has no mapfile
  answer=($("\${COMP_WORDS[0]}" completion bash -- "\${typed[@]}" 2> /dev/null))
  [[ \${#answer[@]} -gt 0 ]] || return
  before=\${answer[0]#* }
  # shellcheck disable=SC2207
  case \${answer[0]} in
    files*) answer+=($(compgen -P "$before" -f -- "\${word#"$before"}")) ;;
    folders*) answer+=($(compgen -P "$before" -d -- "\${word#"$before"}")) ;;
  esac
  COMPREPLY=("\${answer[@]:1}")
  [[ \${#COMPREPLY[@]} -eq 0 ]] || COMPREPLY=("\${COMPREPLY[@]#"\${word%"$cur"}"}")
  # No space after a word that the user continues.
  [[ \${COMPREPLY[0]-} != *[:/] ]] || compopt -o nospace 2> /dev/null
}

complete -F _scripstream scripstream
`

/** For zsh, to be sourced or saved in a folder of `fpath` as `_scripstream`. */
const zsh = `#compdef scripstream
# Completion of scripstream for zsh. Generated by: scripstream completion zsh
_scripstream() {
  local -a answer=("\${(@f)$("$words[1]" completion zsh -- "\${(@)words[2,CURRENT]}" 2> /dev/null)}")
  local kind=\${answer[1]%% *} before=\${answer[1]#* }
  local -a offered=("\${(@)answer[2,-1]}") space=()
  [[ $offered[1] != *:* || $offered[1] != *'\\:'* ]] || space=(-S '')
  (( ! $#offered )) || _describe value offered "\${(@)space}"
  compset -P "\${(b)before}"
  case $kind in
    files) _files ;;
    folders) _files -/ ;;
  esac
}

if [[ $funcstack[1] == _scripstream ]]; then
  _scripstream "$@"
else
  compdef _scripstream scripstream
fi
`

const fish = `# Completion of scripstream for fish. Generated by: scripstream completion fish
function __scripstream_complete
    set -l typed (commandline -opc)
    set -l word (commandline -ct)
    set -l answer ($typed[1] completion fish -- $typed[2..] "$word" 2>/dev/null)
    set -l before (string replace -r '^\\w+ ' '' -- $answer[1])
    set -l path (string sub -s (math 1 + (string length -- "$before")) -- "$word")
    printf '%s\\n' $answer[2..]
    switch $answer[1]
        case 'files*'
            printf '%s\\n' "$before"(__fish_complete_path "$path")
        case 'folders*'
            printf '%s\\n' "$before"(__fish_complete_directories "$path")
    end
end

complete -c scripstream -f -a '(__scripstream_complete)'
`

const scripts = { bash, zsh, fish } as const

type Shell = keyof typeof scripts
