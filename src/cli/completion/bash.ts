import type { CommandWords, Takes } from './words.js'

/** A completion script for bash, from 3.2 on. */
export const bashScript = (
  commands: readonly CommandWords[],
): string => `# Completion of scripstream for bash. Made by: scripstream completion bash
_scripstream() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} command='' words='' head='' i
  local IFS=$' \\t\\n'
  COMPREPLY=()
  # bash makes three words of --option=value and of scheme:path.
  if [[ $cur == '=' ]]; then
    cur=''
  elif [[ $cur == ':' ]]; then
    cur='' prev+=':'
  elif [[ $prev == '=' ]]; then
    prev=\${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $prev == ':' ]]; then
    prev=\${COMP_WORDS[COMP_CWORD - 2]}:
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      ${commands.map(({ name }) => name).join(' | ')})
        command=\${COMP_WORDS[i]}
        break
        ;;
    esac
  done
  case "$command $prev" in
${commands.flatMap(valueCases).join('\n')}
    *:) return ;;
  esac
  case $command in
    '') words='${[...commands.map(({ name }) => name), '--help', '--version'].join(' ')}' ;;
${commands.map((command) => `    ${command.name}) words='${wordsAfter(command).join(' ')}' ;;`).join('\n')}
  esac
  _scripstream_reply -W "$words" -- "$cur"
}

_scripstream_reply() {
  local IFS=$'\\n'
  # shellcheck disable=SC2207 # bash 3.2 has no mapfile
  COMPREPLY=($(IFS=$' \\t\\n' && compgen "$@"))
  # What is to be gone on with gets no blank behind it.
  [[ \${COMPREPLY[0]-} != *[:/] ]] || compopt -o nospace 2> /dev/null
}

complete -F _scripstream scripstream
`

const valueCases = ({ name, options }: CommandWords): readonly string[] =>
  options
    .filter(({ takes, isOptional }) => takes.kind !== 'nothing' && !isOptional)
    .flatMap(({ names, takes }) => [caseOf(name, names, reply(takes)), ...(takes.kind === 'target' ? [pathCase(name, takes)] : [])])

/** What comes behind a scheme. */
const pathCase = (name: string, { words }: Takes): string =>
  caseOf(
    name,
    words.filter((form) => form.endsWith(':')),
    reply({ kind: 'file', words: [] }),
  )

const caseOf = (name: string, before: readonly string[], lines: readonly string[]): string => {
  const pattern = before.map((word) => `'${name} ${word}'`).join(' | ')
  return [`    ${pattern})`, ...[...lines, 'return', ';;'].map((line) => `      ${line}`)].join('\n')
}

const reply = ({ kind, words }: Takes): readonly string[] => {
  if (kind === 'folder') return ['_scripstream_reply -d -- "$cur"']
  if (kind === 'file') return ['_scripstream_reply -f -- "$cur"']
  if (kind === 'target') return [`_scripstream_reply -f -W '${words.join(' ')}' -- "$cur"`]
  if (kind === 'word') return [`_scripstream_reply -W '${words.join(' ')}' -- "$cur"`]
  if (kind !== 'list') return []
  return [`[[ $cur == *,* ]] && head="\${cur%,*},"`, `_scripstream_reply -P "$head" -W '${words.join(' ')}' -- "\${cur##*,}"`]
}

const wordsAfter = ({ options, arguments: taken }: CommandWords): readonly string[] => [
  ...taken.flatMap(({ words }) => words),
  ...options.flatMap(({ names }) => names.filter((option) => option.startsWith('--'))),
]
