import { UsageError } from '../model/errors.js'
import {
  builtInHosts,
  environmentNames,
  findAddress,
  type Host,
  isBuiltInHost,
  type Settings,
  toAddressSetting,
  toAddressVariable,
} from '../model/settings.js'
import { findClosest } from '../model/text.js'
import { rejectIssues } from '../model/unknown-names.js'
import type { Phase, StreamDefinition } from './define-stream.js'
import { checkRegistry, findSources, findUnknownStreams } from './registry.js'
import type { RunSelection } from './session.js'

export type Selection = Pick<RunSelection, 'only' | 'skip' | 'pairs'>

export interface PlannedStream {
  readonly stream: StreamDefinition
  readonly state: 'waiting' | 'skipped' | 'disabled'
}

/** Selects the requested streams and their sources, in registry order. Throws a `UsageError` for unknown or contradictory names. */
export const planRun = (
  streams: readonly StreamDefinition[],
  { fetchOhlcv }: Pick<Settings, 'fetchOhlcv'>,
  { only, skip = [], pairs = {} }: Selection = {},
): readonly PlannedStream[] => {
  checkRegistry(streams)
  const names = streams.map(({ name }) => name)
  rejectIssues([
    ...findUnknownStreams(only ?? [], streams, () => 'only'),
    ...findUnknownStreams(skip, streams, () => 'skip'),
    ...findUnknownStreams(Object.keys(pairs), streams, (name) => `pairs.${name}`),
  ])

  const both = skip.filter((name) => only?.includes(name))
  if (both.length > 0) throw new UsageError(`only and skip both name ${both.join(', ')}; leave it out of one of them`)
  const isDisabled = ({ phase }: StreamDefinition): boolean => phase === 'candles' && !fetchOhlcv
  const isWanted = (stream: StreamDefinition): boolean => (only ?? names).includes(stream.name) && !skip.includes(stream.name)
  const runs = new Set<StreamDefinition>()
  for (const stream of streams.filter(isWanted)) {
    if (isDisabled(stream) && only === undefined) continue
    for (const needed of [stream, ...findSources(stream, streams)]) {
      if (isDisabled(needed)) throw new UsageError(describeDisabled(stream, needed))
      if (skip.includes(needed.name)) throw new UsageError(describeSkipped(stream, needed))
      runs.add(needed)
    }
  }
  return streams.map((stream) => ({ stream, state: runs.has(stream) ? 'waiting' : isDisabled(stream) ? 'disabled' : 'skipped' }))
}

/** The streams that run, in order. */
export const listRunning = (plan: readonly PlannedStream[]): readonly StreamDefinition[] =>
  plan.flatMap(({ stream, state }) => (state === 'waiting' ? [stream] : []))

/** The planned streams of a phase, in order. */
export const selectPhase = (plan: readonly PlannedStream[], phase: Phase): readonly StreamDefinition[] =>
  listRunning(plan).filter((stream) => stream.phase === phase)

const describeDisabled = (stream: StreamDefinition, needed: StreamDefinition): string =>
  `${stream.name} ${stream === needed ? 'is requested' : `needs ${needed.name}`}, but FETCH_OHLCV (fetchOhlcv) is false; ` +
  `set it to true, or do not request ${stream.name}`

const describeSkipped = (stream: StreamDefinition, needed: StreamDefinition): string =>
  `${stream.name} needs ${needed.name}, which is skipped; skip ${stream.name} too, or do not skip ${needed.name}`

/** Throws a `UsageError` that names every unset setting that the planned streams need. */
export const checkRequirements = (plan: readonly PlannedStream[], settings: Settings): void => {
  /** The unset settings, each with the line that names it and the streams that need it. */
  const missing = new Map<string, { readonly line: string; readonly users: readonly string[] }>()
  for (const stream of listRunning(plan)) {
    const hosts = stream.endpoints.map(({ host }) => host).filter((host) => findAddress(settings, host) === undefined)
    const others = (stream.requires ?? []).filter((setting) => settings[setting] === undefined)
    const needed = new Map<string, string>([
      ...hosts.map((host) => [toAddressSetting(host), describeHost(host, settings)] as const),
      ...others.map((setting) => [setting, `${environmentNames[setting]} (${setting})`] as const),
    ])
    for (const [path, line] of needed) missing.set(path, { line, users: [...(missing.get(path)?.users ?? []), stream.name] })
  }
  if (missing.size === 0) return
  const issues = [...missing].map(([path, { line, users }]) => ({ path, message: `${line}, needed by ${users.join(', ')}` }))
  const lines = issues.map(({ message }) => `  ${message}`)
  throw new UsageError(`not set:\n${lines.join('\n')}\nSet the variables, or the names in brackets in scripstream.config.json.`, {
    code: 'missing-setting',
    issues,
  })
}

const describeHost = (host: Host, { hosts }: Settings): string => {
  const meant = isBuiltInHost(host) ? undefined : findClosest(host, builtInHosts)
  const misspelt = isBuiltInHost(host) ? undefined : findClosest(host, Object.keys(hosts))
  const builtIn = meant === undefined ? '' : `, or did you mean the built-in host ${meant}?`
  return `${toAddressVariable(host)} (${toAddressSetting(host)}${misspelt === undefined ? builtIn : `, not hosts.${misspelt}?`})`
}
