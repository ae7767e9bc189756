import { defer, type Observable } from 'rxjs'
import type { Settings } from '../model/settings.js'
import type { Parts, Shell } from './parts.js'
import { whileServing } from './serving.js'

/** Whom a command asks: the provider that is set, or the embedded one. */
export interface Asked {
  readonly config: string | undefined
  /** How many stocks to simulate; nothing to ask the provider that is set. */
  readonly simulate: number | undefined
  readonly asOf?: number | undefined
}

export interface Provider {
  readonly settings: Settings
  /** What a run is told of an embedded provider. */
  readonly variant: { readonly variant?: string }
}

/** Pause before each simulated answer: a run is over soon, but not before anyone has seen it go. */
export const SIMULATED_LATENCY_MS = 40

const SIMULATED_STOCKS = 500

/** The number of made-up stocks that `--simulate` asks for, without a number too. */
export const simulatedStocks = (simulate: number | true | undefined): number | undefined =>
  simulate === true ? SIMULATED_STOCKS : simulate

/** The settings in force, of which flags win. */
export const settingsFor = (
  {
    config,
    out,
    patience,
  }: { readonly config: string | undefined; readonly out?: string | undefined; readonly patience?: number | undefined },
  { env }: Pick<Shell, 'env'>,
  { loadSettings, streams }: Parts,
): Settings =>
  loadSettings({
    flags: { ...(out === undefined ? {} : { out }), ...(patience === undefined ? {} : { downMs: patience }) },
    env,
    ...(config === undefined ? {} : { configFile: config }),
    streams,
  })

/** Asks whom it is to ask; an embedded provider serves for as long as that takes. */
export const asking = <T>(
  { simulate, asOf }: Pick<Asked, 'simulate' | 'asOf'>,
  { settings, parts }: { readonly settings: Settings; readonly parts: Parts },
  use: (provider: Provider) => Observable<T>,
): Observable<T> => {
  if (simulate === undefined) return defer(() => use({ settings, variant: {} }))
  const { serveSimulator, streams } = parts
  const endpoints = streams.flatMap((stream) => stream.endpoints)
  const options = { endpoints, stocks: simulate, latencyMs: SIMULATED_LATENCY_MS, asOf, exchange: settings.exchange }
  return whileServing(
    () => serveSimulator(options),
    (simulator) => use({ settings: { ...settings, ...simulator.settings }, variant: { variant: `${simulate} made-up stocks` } }),
  )
}
