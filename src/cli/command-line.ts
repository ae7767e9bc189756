import { basename, isAbsolute, join, relative, sep } from 'node:path'
import { quoteShell } from '../model/text.js'
import { statFile } from '../storage/file-system.js'

/**
 * This command as it can be typed in a folder: `scripstream` where a shell finds it, `npx scripstream` where
 * a project has installed it or npx has fetched it, else Node with a file. `script` is the file that was
 * started. In the root folder, the file has its whole path.
 */
const listCommandWords = (script = process.argv[1] ?? '', folder = process.cwd()): readonly string[] => {
  if (!['scripstream', 'scripstream.cjs'].includes(basename(script))) return ['scripstream']
  const [owner = '', ...inside] = script.split(`${sep}node_modules${sep}`)
  if (inside.length > 0) {
    if (script.includes(`${sep}_npx${sep}`) || isBelow(folder, owner)) return ['npx', 'scripstream']
    // A global installation is in no project.
    if (statFile(join(owner, 'package.json')) === undefined) return ['scripstream']
  } else if (basename(script) === 'scripstream') return ['scripstream']
  return ['node', folder !== sep && isBelow(script, folder) ? relative(folder, script) : script]
}

export const findCommandName = (script?: string, folder?: string): string =>
  listCommandWords(script, folder).map(quoteShell).join(' ')

const isBelow = (path: string, folder: string): boolean => {
  const way = relative(folder, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/**
 * A text for people whose commands (`"scripstream init"`, `to resume: scripstream run`) can be pasted where
 * it is read. A shell (`<(…)`) and an agent (`"command": …`) start them in folders of their own.
 */
export const adaptCommands = (text: string): string => {
  const [name, anywhere] = [findCommandName(), listCommandWords(process.argv[1], sep)]
  if (name === 'scripstream') return text
  const [program, ...first] = anywhere.map((word) => JSON.stringify(word))
  return text
    .replaceAll('<(scripstream ', `<(${anywhere.map(quoteShell).join(' ')} `)
    .replaceAll('"command": "scripstream", "args": [', `"command": ${program}, "args": [${first}, `)
    .replace(/(?<=^ *|["(]|[:&|] |=\S+ )scripstream (?=[a-z-])/gm, `${name} `)
}

/** Whether an argument is one of some options with a value, or its value. */
const belongsTo =
  (options: readonly string[]) =>
  (arg: string, index: number, args: readonly string[]): boolean =>
    options.some((option) => arg === option || arg.startsWith(`${option}=`) || args[index - 1] === option)

export const buildResumeArgs = (args: readonly string[]): readonly string[] =>
  args.filter((arg) => arg !== '--fresh')

export const buildFolderArgs = (args: readonly string[], name: string): readonly string[] => [
  name,
  ...expandShort(args).filter(belongsTo(['--out', '--config', '--streams'])),
]

/** `-q`, `-o DIR`, `-oDIR` and `-qo DIR` with the long names. */
const expandShort = (args: readonly string[]): readonly string[] =>
  args.flatMap((arg) => {
    const [isShort, quiet, out, dir = ''] = /^-(?=[qo])(q)?(o(.*))?$/s.exec(arg) ?? []
    if (isShort === undefined) return [arg]
    return [
      ...(quiet === undefined ? [] : ['--quiet']),
      ...(out === undefined ? [] : ['--out']),
      ...(dir === '' ? [] : [dir]),
    ]
  })

/**
 * A command as typed in a POSIX shell, without the credentials of an address: before its host (up to the last
 * `@`, because a password may have unescaped characters) or in its query. What `--notify` names may be a
 * secret as a whole.
 */
export const formatCommandLine = (args: readonly string[]): string =>
  [
    findCommandName(),
    ...hideNotify(args).map((arg) =>
      quoteShell(arg.replace(/(\w:\/\/).*@/s, '$1…@').replace(SECRET_PARAMETER, '$1…')),
    ),
  ].join(' ')

const hideNotify = (args: readonly string[]): readonly string[] =>
  args.map((arg, index) =>
    args[index - 1] === '--notify' ? '…' : arg.replace(/^--notify=.*/s, '--notify=…'),
  )

const SECRET_PARAMETER = /([?&][^=&]*(?:pass|secret|token|key)[^=&]*=)[^&]*/gi
