import { concatMap, defer, finalize, from, type Observable } from 'rxjs'
import { findMisspeltVariables } from '../model/environment.js'
import type { Settings } from '../model/settings.js'
import type { Dependencies, ProcessIo } from './dependencies.js'
import { clean } from './terminal/text.js'

/** The provider of a command: the configured one, or the simulator. */
export interface ProviderChoice {
  readonly config?: string | undefined
  /** Number of simulated stocks; undefined for the configured provider. */
  readonly simulate?: number | undefined
  readonly asOf?: number | undefined
}

interface Provider {
  readonly settings: Settings
  /** Identifies simulated data in the record of a run. */
  readonly variant: { readonly variant?: string }
}

/** Delay of each simulated answer: a run stays short, but its progress is visible. */
export const SIMULATED_LATENCY_MS = 40

/** The settings of a command; flags take precedence. */
export const resolveSettings = (
  {
    config,
    out,
    patience,
  }: { readonly config?: string | undefined; readonly out?: string | undefined; readonly patience?: number | undefined },
  { env }: Pick<ProcessIo, 'env'>,
  { loadSettings, streams }: Dependencies,
): Settings =>
  loadSettings({
    flags: { ...(out === undefined ? {} : { out }), ...(patience === undefined ? {} : { downMs: patience }) },
    env,
    ...(config === undefined ? {} : { configFile: config }),
    streams,
  })

/** Warns about environment variables that look like misspelt ones of ours. */
export const warnOfMisspeltVariables = ({ env, stderr }: Pick<ProcessIo, 'env' | 'stderr'>, { streams }: Dependencies): void => {
  for (const line of findMisspeltVariables(env, streams)) stderr.write(`warning: ${clean(line)}\n`)
}

/** Uses the configured provider, or runs the simulator as long as `use` needs it. */
export const withProvider = <T>(
  { simulate, asOf }: Pick<ProviderChoice, 'simulate' | 'asOf'>,
  { settings, dependencies }: { readonly settings: Settings; readonly dependencies: Dependencies },
  use: (provider: Provider) => Observable<T>,
): Observable<T> => {
  if (simulate === undefined) return defer(() => use({ settings, variant: {} }))
  const { serveSimulator, streams } = dependencies
  const endpoints = streams.flatMap((stream) => stream.endpoints)
  const options = { endpoints, stocks: simulate, latencyMs: SIMULATED_LATENCY_MS, asOf, exchange: settings.exchange }
  return whileServing(
    () => serveSimulator(options),
    (simulator) => use({ settings: { ...settings, ...simulator.settings }, variant: { variant: `${simulate} simulated stocks` } }),
  )
}

/** Uses a server, such as the simulator. Closes it when `use` completes, fails or is unsubscribed, even while it is starting. */
export const whileServing = <Server extends { readonly close: () => unknown }, T>(
  serve: () => Promise<Server>,
  use: (server: Server) => Observable<T>,
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
