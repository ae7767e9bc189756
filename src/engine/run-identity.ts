import { createHash } from 'node:crypto'
import { findAddress, listHosts, listSameSettings, type Settings } from '../model/settings.js'
import { listStreamOptions } from '../model/stream-options.js'
import { listRunning, type PlannedStream } from './plan.js'
import type { RunOptions } from './run-options.js'
import { type KnownStocks, resolveSelection } from './select-items.js'
import type { RunRecord, RunSelection } from './storage.js'

/**
 * The version of the package without the patch. A run is resumed by the same one only, so that no file mixes
 * rows of two versions.
 */
export const ROWS_VERSION = '0.1'

export interface IdentityFacts extends RunSelection, Pick<RunOptions, 'variant'> {
  readonly settings: Settings
  readonly plan: readonly PlannedStream[]
}

/**
 * The identity of a run: two runs of the same `version` with the same `configuration` as of the same trading
 * day are the same run.
 */
export const createIdentity = ({ settings, plan, symbols, pairs, variant }: IdentityFacts) => {
  const same = [
    ...listSameSettings().map((name) => [name, settings[name]]),
    ...listStreamOptions(plan.map(({ stream }) => stream))
      .filter(({ resume }) => resume === 'same')
      .map(({ path, stream, name, schema }) => [path, schema.parse(settings.options[stream]?.[name])]),
  ]
  const addresses = listHosts(settings)
    .flatMap((host) => {
      const url = findAddress(settings, host)
      return url === undefined ? [] : `${host} ${variant === undefined ? url : withoutLocalPort(url)}`
    })
    .sort()
  const streams = listRunning(plan).map(({ name }) => name)
  const digest = hashFacts({ same, addresses, variant })
  return {
    version: ROWS_VERSION,
    configuration: hashConfiguration(digest, streams, { symbols, pairs }),
    settings: digest,
    streams,
  }
}

const hashConfiguration = (settings: string, streams: readonly string[], { symbols, pairs }: RunSelection) =>
  hashFacts({
    settings,
    streams,
    stocks: symbols && [...new Set(symbols.map((symbol) => symbol.toUpperCase()))].sort(),
    pairs,
  })

/** The record of an earlier run with the symbols that its stocks have now. */
export const resolveRecord = <R extends RunRecord>(record: R, known: KnownStocks): R => {
  const { chosen, settings, streams } = record
  if (chosen?.symbols === undefined || settings === undefined || streams === undefined) return record
  const resolved = resolveSelection(chosen, known)
  return { ...record, chosen: resolved, configuration: hashConfiguration(settings, streams, resolved) }
}

const hashFacts = (facts: object): string => createHash('sha256').update(JSON.stringify(facts)).digest('hex')

/** The simulator listens on a different port after each start. */
const withoutLocalPort = (url: string): string => {
  const { hostname, pathname, protocol, host } = new URL(url)
  return `${protocol}//${/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname) ? hostname : host}${pathname}`
}
