import {
  catchError,
  concatMap,
  defer,
  finalize,
  from,
  type MonoTypeOperatorFunction,
  type Observable,
  type ObservableInput,
} from 'rxjs'
import type { SettingsSources } from '../config.js'
import { findMisspeltVariables } from '../model/environment.js'
import { UsageError } from '../model/errors.js'
import { omitUndefined } from '../model/row.js'
import type { Settings } from '../model/settings.js'
import { statFile } from '../storage/file-system.js'
import type { Dependencies, ProcessIo } from './dependencies.js'
import type { Origins } from './hints.js'
import { printWarning } from './terminal/terminal.js'

interface Provider {
  readonly settings: Settings
  /** Identifies simulated data in the record of a run. */
  readonly variant: { readonly variant?: string }
  /** What is not as usual, a sentence. */
  readonly note?: string
}

/** Delay of each simulated answer: a run stays short, but its progress is visible. */
export const SIMULATED_LATENCY_MS = 40

const SETTING_FLAGS = ['out', 'notify', 'notifyOn', 'logFile', 'metricsFile', 'patience'] as const

export interface SettingFlags
  extends Partial<Readonly<Record<(typeof SETTING_FLAGS)[number], string | undefined>>> {
  readonly config?: string | undefined
  readonly history?: boolean | undefined
  readonly with?: readonly string[] | undefined
}

type Resolve<T> = (flags: SettingFlags, io: Pick<ProcessIo, 'env'>, dependencies: Dependencies) => T

const listSources: Resolve<SettingsSources> = (flags, { env }, { streams }) => {
  const { config: configFile, history, with: added } = flags
  // --no-history only switches it off: its absence must not overrule the settings.
  const values = {
    ...Object.fromEntries(SETTING_FLAGS.map((name) => [name, flags[name]])),
    with: added === undefined ? undefined : [...added],
    history: history === false ? false : undefined,
  }
  return { flags: omitUndefined(values), env, streams, configFile }
}

/**
 * The settings of a command; flags take precedence. @throws UsageError also for a module of streams, or an
 * output folder that is a file
 */
export const resolveSettings: Resolve<Settings> = (flags, io, dependencies) => {
  if (dependencies.failure !== undefined) throw dependencies.failure
  const settings = dependencies.loadSettings(listSources(flags, io, dependencies))
  if (statFile(settings.out)) {
    const origin = resolveOrigins(flags, io, dependencies).get('out') ?? '--out'
    throw new UsageError(
      `${settings.out} is a file; ${origin === '--out' ? 'choose a folder with --out' : `correct ${origin}`}`,
    )
  }
  return settings
}

/** The settings that a notification needs, also where others are wrong. */
export const resolveNotifySettings: Resolve<Settings> = (flags, io, dependencies) =>
  dependencies.loadNotifySettings(listSources(flags, io, dependencies))

export const resolveOrigins: Resolve<Origins> = (flags, io, dependencies) =>
  dependencies.findOrigins(listSources(flags, io, dependencies))

/**
 * An error about a setting, such as `holidays: …`, with the place that the setting comes from, if it does not
 * have that already.
 */
export const nameOrigin = <T>(findOrigins: () => Origins): MonoTypeOperatorFunction<T> =>
  catchError((error: unknown) => {
    const { path = '' } = (error instanceof UsageError && error.issues[0]) || {}
    const origin = path === '' ? undefined : findOrigins().get(path)
    if (!(error instanceof UsageError) || origin === undefined || !error.message.startsWith(`${path}:`))
      throw error
    throw new UsageError(error.message.replace(path, origin), { issues: error.issues })
  })

export const warnOfMisspeltVariables = (
  { env, stderr }: Pick<ProcessIo, 'env' | 'stderr'>,
  { streams }: Dependencies,
): void => {
  for (const line of findMisspeltVariables(env, streams)) printWarning(line, stderr)
}

export const withProvider = <T>(
  { simulate, asOf }: { readonly simulate?: number | undefined; readonly asOf?: number | undefined },
  { settings, dependencies }: { readonly settings: Settings; readonly dependencies: Dependencies },
  use: (provider: Provider) => ObservableInput<T>,
): Observable<T> => {
  if (simulate === undefined) return defer(() => use({ settings, variant: {} }))
  const { serveSimulator, streams } = dependencies
  const endpoints = streams.flatMap((stream) => stream.endpoints)
  const options = {
    endpoints,
    stocks: simulate,
    latencyMs: SIMULATED_LATENCY_MS,
    asOf,
    exchange: settings.exchange,
  }
  return whileServing(
    () => serveSimulator(options),
    (simulator) =>
      use({
        variant: { variant: `${simulate} simulated stocks` },
        ...limitOpenFiles({ ...settings, ...simulator.settings }, dependencies),
      }),
  )
}

/** All workers of a simulated run have so many files open: both ends of their connections, and outputs. */
const FILES_OF_ALL_WORKERS = 700
const FEW_WORKERS = 2

/** Lowers the workers of a simulated run if its process may open few files. */
const limitOpenFiles = (
  settings: Settings,
  { streams, findMaxOpenFiles }: Dependencies,
): Pick<Provider, 'settings' | 'note'> => {
  const most = findMaxOpenFiles()
  if (most >= FILES_OF_ALL_WORKERS) return { settings }
  const fewer = streams.map(({ name }) => [
    name,
    Math.min(FEW_WORKERS, settings.workers[name] ?? FEW_WORKERS),
  ])
  const note = `Only ${most} files may be open (ulimit -n), for the run and its simulator together: each stream has ${FEW_WORKERS} workers.`
  return { settings: { ...settings, workers: Object.fromEntries(fewer) }, note }
}

/**
 * Uses a server, such as the simulator. Closes it when `use` completes, fails or is unsubscribed, even while
 * it is starting.
 */
export const whileServing = <Server extends { readonly close: () => unknown }, T>(
  serve: () => Promise<Server>,
  use: (server: Server) => ObservableInput<T>,
): Observable<T> =>
  defer(() => {
    const serving = serve()
    const close = (): void =>
      void serving.then(
        (server) => server.close(),
        () => undefined,
      )
    return from(serving).pipe(concatMap(use), finalize(close))
  })
