import type { CommandWords, OptionWords, Takes } from './words.js'

/** A completion script for zsh, to be sourced or put into a folder of \`fpath\` as \`_scripstream\`. */
export const zshScript = (commands: readonly CommandWords[]): string => `#compdef scripstream
# Completion of scripstream for zsh. Made by: scripstream completion zsh
_scripstream() {
  local context state state_descr line
  typeset -A opt_args
  _arguments -C '(- *)--help[${spec('shows what there is')}]' '(- *)--version[${spec('shows the version')}]' '1: :->command' '*:: :->rest'
  case $state in
    command)
      local -a commands=(
${commands.map(({ name, description }) => `        '${spec(`${name}:${description.replaceAll(':', ' ')}`, false)}'`).join('\n')}
      )
      _describe command commands
      ;;
    rest)
      case $line[1] in
${commands.map(caseOf).join('\n')}
      esac
      ;;
  esac
}

${targetFunction(commands)}

if [[ $funcstack[1] == _scripstream ]]; then
  _scripstream "$@"
else
  compdef _scripstream scripstream
fi
`

/** What stands before a path is set aside, so that the path is completed. */
const targetFunction = (commands: readonly CommandWords[]): string => {
  const targets = commands.flatMap(({ options }) => options.filter(({ takes }) => takes.kind === 'target'))
  const forms = [...new Set(targets.flatMap(({ takes }) => takes.words))]
  return `_scripstream_target() {
  compset -P '(${forms.filter((form) => form.endsWith(':')).join('|')})' || compadd -S '' -- ${forms.join(' ')}
  _files
}`
}

const caseOf = ({ name, options, arguments: taken }: CommandWords): string => {
  const specs = [...options.flatMap(optionSpecs), ...taken.map((takes, place) => `'${place + 1}:${valueSpec(takes)}'`)]
  return [`        ${name})`, `          _arguments \\\n            ${specs.join(' \\\n            ')}`, '          ;;'].join('\n')
}

const optionSpecs = ({ names, description, takes, isOptional }: OptionWords): readonly string[] =>
  names.map((name) => {
    const isLong = name.startsWith('--')
    const value = takes.kind === 'nothing' ? '' : isOptional ? `::${valueSpec(takes)}` : `:${valueSpec(takes)}`
    return `'*${name}${isLong && value !== '' ? (isOptional ? '=-' : '=') : ''}[${spec(description)}]${value}'`
  })

const valueSpec = ({ kind, words }: Takes): string => {
  if (kind === 'folder') return 'folder:_files -/'
  if (kind === 'file') return 'file:_files'
  if (kind === 'target') return 'target:_scripstream_target'
  if (kind === 'word') return `value:(${words.join(' ')})`
  return kind === 'list' ? `list:_values -s , list ${words.join(' ')}` : 'value: '
}

/** A text as it may stand between quotes, and between the brackets of an option. */
const spec = (text: string, isBracketed = true): string => {
  const quoted = text.replaceAll("'", "'\\''")
  return isBracketed ? quoted.replace(/[[\]\\]/g, '\\$&') : quoted
}
