import { UsageError } from '../model/errors.js'
import type { StreamForecast } from '../model/progress.js'
import {
  builtInHosts,
  findAddress,
  type Host,
  isBuiltInHost,
  type Settings,
  toAddressSetting,
  toAddressVariable,
} from '../model/settings.js'
import { rejectIssues } from '../model/settings-issues.js'
import { listStreamOptions } from '../model/stream-options.js'
import { findClosest } from '../model/text.js'
import { DAYS, listDayItems, MASTER, type Phase, type StreamDefinition, toFilePath } from './define-stream.js'
import { checkRegistry, findSources, findUnknownStreams } from './registry.js'
import type { RunSelection } from './storage.js'

export type Selection = Pick<RunSelection, 'only' | 'skip' | 'pairs'>

export interface PlannedStream {
  readonly stream: StreamDefinition
  readonly state: 'waiting' | 'skipped' | 'disabled'
}

/** The streams without the optional ones that are not named. */
export const selectOptional = (
  streams: readonly StreamDefinition[],
  named: readonly string[],
): readonly StreamDefinition[] =>
  streams.filter(({ name, optional }) => optional !== true || named.includes(name))

/**
 * Selects the requested streams and their sources, in registry order. Throws a `UsageError` for unknown or
 * contradictory names.
 */
export const planRun = (
  all: readonly StreamDefinition[],
  { fetchOhlcv, with: added }: Pick<Settings, 'fetchOhlcv' | 'with'>,
  { only, skip = [], pairs = {} }: Selection = {},
): readonly PlannedStream[] => {
  checkRegistry(all)
  rejectIssues([
    ...findUnknownStreams(added, all, () => 'with'),
    ...findUnknownStreams(only ?? [], all, () => 'only'),
    ...findUnknownStreams(skip, all, () => 'skip'),
    ...findUnknownStreams(Object.keys(pairs), all, (name) => `pairs.${name}`),
  ])
  const streams = selectOptional(all, [...added, ...(only ?? []), ...Object.keys(pairs)])
  const names = streams.map(({ name }) => name)

  const both = skip.filter((name) => only?.includes(name))
  if (both.length > 0)
    throw new UsageError(`only and skip both name ${both.join(', ')}; leave it out of one of them`)
  const isDisabled = ({ phase }: StreamDefinition): boolean => phase === 'candles' && !fetchOhlcv
  const isWanted = (stream: StreamDefinition): boolean =>
    (only ?? names).includes(stream.name) && !skip.includes(stream.name)
  const runs = new Set<StreamDefinition>()
  for (const stream of streams.filter(isWanted)) {
    if (isDisabled(stream) && only === undefined) continue
    for (const needed of [stream, ...findSources(stream, streams)]) {
      if (isDisabled(needed)) throw new UsageError(describeDisabled(stream, needed))
      if (skip.includes(needed.name)) throw new UsageError(describeSkipped(stream, needed))
      runs.add(needed)
    }
  }
  return streams.map((stream) => ({
    stream,
    state: runs.has(stream) ? 'waiting' : isDisabled(stream) ? 'disabled' : 'skipped',
  }))
}

export const listRunning = (plan: readonly PlannedStream[]): readonly StreamDefinition[] =>
  plan.flatMap(({ stream, state }) => (state === 'waiting' ? [stream] : []))

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
    const hosts = stream.endpoints
      .map(({ host }) => host)
      .filter((host) => findAddress(settings, host) === undefined)
    const others = listStreamOptions([stream]).filter(
      ({ isRequired, name }) => isRequired && settings.options[stream.name]?.[name] === undefined,
    )
    const needed = new Map<string, string>([
      ...hosts.map((host) => [toAddressSetting(host), describeAddress(host, settings)] as const),
      ...others.map(({ path, variable }) => [path, `${variable} (${path})`] as const),
    ])
    for (const [path, line] of needed)
      missing.set(path, { line, users: [...(missing.get(path)?.users ?? []), stream.name] })
  }
  if (missing.size === 0) return
  const issues = [...missing].map(([path, { line, users }]) => ({
    path,
    message: `${line}, needed by ${users.join(', ')}`,
  }))
  const lines = issues.map(({ message }) => `  ${message}`)
  throw new UsageError(
    `not set:\n${lines.join('\n')}\nSet the variables, or the names in brackets in scripstream.config.json.`,
    {
      code: 'missing-setting',
      issues,
    },
  )
}

const describeAddress = (host: Host, { hosts }: Settings): string => {
  const meant = isBuiltInHost(host) ? undefined : findClosest(host, builtInHosts)
  const misspelt = isBuiltInHost(host) ? undefined : findClosest(host, Object.keys(hosts))
  const builtIn = meant === undefined ? '' : `, or did you mean the built-in host ${meant}?`
  return `${toAddressVariable(host)} (${toAddressSetting(host)}${misspelt === undefined ? builtIn : `, not hosts.${misspelt}?`})`
}

interface PhaseText {
  readonly phase: Phase
  readonly title: string
  readonly note: string
  /** Its streams run one after the other, not side by side. */
  readonly isSequential: boolean
}

/** The phases in their order, with the texts for people. */
const phaseTexts: readonly PhaseText[] = [
  { phase: 'core', title: 'phase 1: core', note: 'one after the other', isSequential: true },
  { phase: 'enrichment', title: 'phase 2: enrichment', note: 'in parallel', isSequential: false },
  {
    phase: 'candles',
    title: 'phase 2.5: candles',
    note: 'in parallel with phase 2; the setting FETCH_OHLCV=false leaves it out',
    isSequential: false,
  },
]

export interface PhaseGroup<Member = StreamDefinition> extends PhaseText {
  readonly members: readonly Member[]
}

/** The phases that have streams, each with its streams in the order of the registry. */
export const groupByPhase = <Member extends Pick<StreamDefinition, 'phase'>>(
  streams: readonly Member[],
): readonly PhaseGroup<Member>[] =>
  phaseTexts
    .map((text) => ({ ...text, members: streams.filter(({ phase }) => phase === text.phase) }))
    .filter(({ members }) => members.length > 0)

const MAX_NAMED_PARTS = 3

/** The files of a stream for display: their names, or one pattern if there are many. */
export const listOutputPatterns = (
  { outputs, work }: Pick<StreamDefinition, 'outputs' | 'work'>,
  exchange = '{exch}',
): readonly string[] => {
  const named = outputs.flatMap((output) =>
    work.of === undefined && work.parts.length <= MAX_NAMED_PARTS
      ? work.parts.map((part) => toFilePath(output, exchange, part))
      : [output.file.replaceAll('{exch}', exchange.toLowerCase())],
  )
  return [...new Set(named)]
}

export const forecastStreams = (
  streams: readonly StreamDefinition[],
  settings: Pick<Settings, 'workers'>,
): readonly StreamForecast[] =>
  streams.map(({ name, phase, workers, work: { of, parts } }) => ({
    name,
    isSequential: phaseTexts.some((text) => text.phase === phase && text.isSequential),
    workers: settings.workers[name] ?? workers,
    items:
      of === undefined
        ? parts.length
        : of === DAYS
          ? listDayItems(0).length
          : of === MASTER
            ? 'stocks'
            : undefined,
  }))
