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
      return { text: formatWords(complete(program, await listKnown(input, typed), typed), shell) }
    },
  })(program, context)
}

/** Words by the placeholders of options and arguments, such as `streams` in `--only <streams>`. Those in the plural take a list. */
const listKnown = async ({ io, dependencies }: Input, typed: readonly string[]): Promise<Readonly<Record<string, readonly string[]>>> => {
  const names = dependencies.streams.map(({ name }) => name)
  const [out, config] = ['--out', '--config'].map((flag) => (typed.includes(flag) ? typed[typed.indexOf(flag) + 1] : undefined))
  const { watchlists, stocks, queries } = await readFolder({ out, config }, io, dependencies).catch(() => NOTHING_KNOWN)
  return {
    ...{ stream: names, streams: names, checks: checkNames, kinds: sectionNames, rules: refusalCodes, target: targetForms },
    ...{ symbols: [...watchlists, ...stocks], stock: stocks, statement: queries },
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

type Words = readonly (readonly [word: string, about: string])[]

/** What may replace the last of the words that follow the name of the program; nothing where a file may follow. */
const complete = (program: Command, known: Readonly<Record<string, readonly string[]>>, typed: readonly string[]): Words => {
  const [word = '', last] = [typed.at(-1), typed.at(-2)]
  const command = typed.slice(0, -1).flatMap((name) => program.commands.find((one) => one.name() === name) ?? [])[0]
  const offer = (words: Words): Words => words.filter(([text]) => text.startsWith(word))
  if (command === undefined)
    return offer([
      ...program.commands.map((one) => [one.name(), one.description()] as const),
      ...[['--help', 'shows the help'] as const, ['--version', 'shows the version'] as const],
    ])
  const find = (name: string, { argChoices }: Pick<Option | Argument, 'argChoices'>) => argChoices ?? known[name] ?? []
  const options = command.options.filter((one) => !one.hidden || isRare(one))
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
    ...command.registeredArguments.flatMap((argument) => find(argument.name(), argument)).map((text) => [text, ''] as const),
    ...options.flatMap((one) => (one.long ? [[one.long, one.description] as const] : [])),
  ])
}

const formatWords = (words: Words, shell: Shell): string =>
  words
    .map(([word, about]) => {
      const text = shell === 'zsh' ? word.replaceAll(':', '\\:') : word
      return `${shell === 'bash' || about === '' ? text : `${text}${shell === 'zsh' ? ':' : '\t'}${about}`}\n`
    })
    .join('')

// Each script asks the command what fits the words typed so far, a line each. Without an answer, the shell offers files.

/** For bash, from 3.2 on. */
const bash = `# Completion of scripstream for bash. Generated by: scripstream completion bash
_scripstream() {
  local IFS=$'\\n' cur=\${COMP_WORDS[COMP_CWORD]} word='' i
  local -a typed=()
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
  COMPREPLY=($("\${COMP_WORDS[0]}" completion bash -- "\${typed[@]}" 2> /dev/null))
  [[ \${#COMPREPLY[@]} -eq 0 ]] || COMPREPLY=("\${COMPREPLY[@]#"\${word%"$cur"}"}")
  # No space after a word that the user continues.
  [[ \${COMPREPLY[0]-} != *[:/] ]] || compopt -o nospace 2> /dev/null
}

complete -o default -F _scripstream scripstream
`

/** For zsh, to be sourced or saved in a folder of `fpath` as `_scripstream`. */
const zsh = `#compdef scripstream
# Completion of scripstream for zsh. Generated by: scripstream completion zsh
_scripstream() {
  local -a offered=("\${(@f)$("$words[1]" completion zsh -- "\${(@)words[2,CURRENT]}" 2> /dev/null)}") space=()
  if [[ -z $offered[1] ]]; then
    compset -P '*[=:@]'
    _files
    return
  fi
  [[ $offered[1] != *:* || $offered[1] != *'\\:'* ]] || space=(-S '')
  _describe value offered "\${(@)space}"
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
    set -l answer ($typed[1] completion fish -- $typed[2..] (commandline -ct) 2>/dev/null)
    if set -q answer[1]
        printf '%s\\n' $answer
    else
        __fish_complete_path (commandline -ct)
    end
end

complete -c scripstream -f -a '(__scripstream_complete)'
`

const scripts = { bash, zsh, fish } as const

type Shell = keyof typeof scripts
