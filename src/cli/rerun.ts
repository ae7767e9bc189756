/** The arguments of a run with other streams to choose from; everything else as it was typed. */
export const withOnly = (args: readonly string[], names: readonly string[]): readonly string[] => {
  const kept = args.filter((arg, place) => !isChoice(arg) && !isChoiceValue(args, place))
  return [...kept, '--only', names.join(',')]
}

/** The arguments that continue a run. */
export const continuing = (args: readonly string[]): readonly string[] => args.filter((arg) => arg !== '--fresh')

/** The arguments of another command about the same folder. */
export const inFolder = (args: readonly string[], name: string): readonly string[] => [
  name,
  ...args.filter((arg, place) => OF_FOLDER.some((option) => arg === option || arg.startsWith(`${option}=`) || args[place - 1] === option)),
]

const OF_FOLDER = ['--out', '--config']

/** The arguments that ask again for what failed. */
export const retrying = (args: readonly string[]): readonly string[] => [
  ...args.filter(
    (arg, place) => !isSelection(arg) && !SELECTIONS.includes(args[place - 1] ?? '') && arg !== '--fresh' && arg !== '--retry-failed',
  ),
  '--retry-failed',
]

/**
 * A command as a person would type it in a POSIX shell, but for the credentials of an address, in front of its host (up to the last
 * `@`: a password may hold what should be escaped) or in its query.
 */
export const commandLine = (args: readonly string[]): string =>
  ['scripstream', ...args.map((arg) => quote(arg.replace(/(\w:\/\/).*@/s, '$1…@').replace(SECRET_PARAMETER, '$1…')))].join(' ')

const SECRET_PARAMETER = /([?&][^=&]*(?:pass|secret|token|key)[^=&]*=)[^&]*/gi

const SELECTIONS = ['--only', '--skip', '--symbols']

const isSelection = (arg: string): boolean => SELECTIONS.some((option) => arg === option || arg.startsWith(`${option}=`))

const isChoice = (arg: string): boolean => /^--(only|skip)(=|$)/.test(arg)

const isChoiceValue = (args: readonly string[], place: number): boolean => ['--only', '--skip'].includes(args[place - 1] ?? '')

const quote = (arg: string): string => (/^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`)
