import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { findStreamModules } from '../config.js'
import type { StreamDefinition } from '../engine/define-stream.js'
import { checkRegistry, isStream } from '../engine/registry.js'
import { formatError, UsageError } from '../model/errors.js'
import { isRow } from '../model/row.js'

const FLAG = '--streams'

/** The option that every command has. It is read before the command, because other options name streams. */
export const STREAMS_OPTION = [`${FLAG} <file>`, 'module with streams of your own; repeatable'] as const

/** The arguments without an option that takes a value, up to `--`, and its values. */
const takeOption = (
  args: readonly string[],
  flag: string,
): { readonly rest: readonly string[]; readonly values: readonly string[] } => {
  const [rest, values]: [string[], string[]] = [[], []]
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? ''
    if (arg === '--') return { rest: [...rest, ...args.slice(index)], values }
    if (arg === flag) values.push(args[++index] ?? '')
    else if (arg.startsWith(`${flag}=`)) values.push(arg.slice(flag.length + 1))
    else rest.push(arg)
  }
  return { rest, values }
}

export const takeStreamsOption = (args: readonly string[]) => takeOption(args, FLAG)

/** The arguments with the option again, for a command that is shown to be copied. */
export const putStreamsOption = (
  [command = '', ...rest]: readonly string[],
  files: readonly string[],
): readonly string[] => [command, ...files.flatMap((file) => [FLAG, file]), ...rest]

/** Whether a command reads no settings: it needs no streams of an app. */
const isHelp = ([command = '', ...rest]: readonly string[]): boolean =>
  /^(-.*|help|completion|init|)$/.test(command) || rest.some((arg) => arg === '--help' || arg === '-h')

/** The modules with streams of an app: those of `--streams`, of the variable or of the settings file. */
export const findModules = (
  args: readonly string[],
  files: readonly string[],
  env: NodeJS.ProcessEnv,
): readonly string[] =>
  isHelp(args)
    ? []
    : findStreamModules({
        flags: files.length === 0 ? {} : { streams: [...files] },
        env,
        configFile: takeOption(args, '--config').values[0],
      })

/**
 * The built-in streams, and after them those of the modules.
 *
 * @throws UsageError if a module cannot be loaded, exports no stream, or exports one that collides with
 * another
 */
export const loadStreams = async (
  builtIn: readonly StreamDefinition[],
  modules: readonly string[],
): Promise<readonly StreamDefinition[]> => {
  const added = await Promise.all(modules.map(loadModule))
  const streams = [...builtIn, ...added.flat()]
  checkRegistry(streams)
  return streams
}

const loadModule = async (path: string): Promise<readonly StreamDefinition[]> => {
  if (!existsSync(path)) throw new UsageError(`${FLAG}: the file ${path} does not exist`)
  const exported = await import(/* @vite-ignore */ pathToFileURL(path).href).catch((error: unknown) => {
    throw new UsageError(`${FLAG}: cannot load ${path}: ${formatError(error)}`)
  })
  const streams = listExportedStreams(exported, path)
  if (streams.length > 0) return streams
  throw new UsageError(
    `${FLAG}: ${path} exports no stream; export what defineStream returns, or a list named streams`,
  )
}

const listExportedStreams = (exported: unknown, path: string): readonly StreamDefinition[] => {
  const all = isRow(exported) ? exported : {}
  if (all.streams === undefined) return [...new Set(Object.values(all).filter(isStream))]
  const list: readonly unknown[] = Array.isArray(all.streams) ? all.streams : [all.streams]
  return list.map((one, index) => {
    if (!isStream(one))
      throw new UsageError(
        `${FLAG}: element ${index + 1} of streams in ${path} is not a stream; use defineStream`,
      )
    return one
  })
}
