import type { CommandWords, Takes } from './words.js'

/** A completion script for fish. */
export const fishScript = (commands: readonly CommandWords[]): string =>
  [
    '# Completion of scripstream for fish. Made by: scripstream completion fish',
    'complete -c scripstream -f',
    'complete -c scripstream -n __fish_use_subcommand -l help -d "shows what there is"',
    'complete -c scripstream -n __fish_use_subcommand -l version -d "shows the version"',
    ...commands.flatMap(linesFor),
    '',
  ].join('\n')

const linesFor = ({ name, description, options, arguments: taken }: CommandWords): readonly string[] => {
  const start = `complete -c scripstream -n '__fish_seen_subcommand_from ${name}'`
  return [
    `complete -c scripstream -n __fish_use_subcommand -a ${name} -d ${quoted(description)}`,
    ...taken.filter(({ kind }) => kind !== 'nothing' && kind !== 'anything').map((takes) => `${start} ${valueSpec(takes, false)}`),
    ...options.map(({ names, description: what, takes, isOptional }) => {
      const flags = names.map((option) => (option.startsWith('--') ? `-l ${option.slice(2)}` : `-s ${option.slice(1)}`))
      return [start, ...flags, ...(isOptional ? [] : [valueSpec(takes, true)].filter((text) => text !== '')), '-d', quoted(what)].join(' ')
    }),
  ]
}

const valueSpec = ({ kind, words }: Takes, isOption: boolean): string => {
  const required = isOption ? '-x ' : ''
  if (kind === 'folder') return `${required}-a '(__fish_complete_directories)'`
  if (kind === 'file') return isOption ? '-r -F' : '-F'
  if (kind === 'target') return `-r -F -a '${words.join(' ')}'`
  if (kind === 'word') return `${required}-a '${words.join(' ')}'`
  if (kind === 'list') return `${required}-a '(__fish_complete_list , "printf %s\\\\\\\\n ${words.join(' ')}")'`
  return kind === 'anything' && isOption ? '-x' : ''
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
