import { isRow, type Row } from './row.js'
import {
  environmentNames,
  type Host,
  isBuiltInHost,
  listEndpointHosts,
  Settings,
  toAddressVariable,
} from './settings.js'
import { listStreamOptions, type OptionOwners } from './stream-options.js'
import { findClosest, findNearMatch } from './text.js'

/** Streams, as far as their endpoints name hosts, and as they have settings of their own. */
type HostUsers = readonly { readonly endpoints: readonly { readonly host: Host }[] }[] & OptionOwners

type EnvironmentVariables = Readonly<Record<string, string | undefined>>

/** The settings in environment variables, also those that are gone; empty variables do not count. */
export const readEnvironment = (env: EnvironmentVariables, streams: HostUsers): Row => {
  const values: Record<string, unknown> = {}
  for (const [setting, variable] of Object.entries(environmentNames)) {
    const text = env[variable]?.trim() ?? ''
    if (text !== '') values[setting] = parseValue(setting, defaults[setting], text)
  }
  const addresses = listStreamHosts(streams).flatMap((host) => {
    const text = env[toAddressVariable(host)]?.trim() ?? ''
    return text === '' ? [] : [[host, text] as const]
  })
  const options: Record<string, Record<string, unknown>> = {}
  for (const { stream, name, variable, schema } of listStreamOptions(streams)) {
    const text = env[variable]?.trim() ?? ''
    if (text !== '')
      options[stream] = {
        ...options[stream],
        [name]: parseValue(name, schema.safeParse(undefined).data, text),
      }
  }
  return {
    ...values,
    options,
    urls: Object.fromEntries(addresses.filter(([host]) => isBuiltInHost(host))),
    hosts: Object.fromEntries(
      addresses.flatMap(([host, url]) => (isBuiltInHost(host) ? [] : [[host, { url }]])),
    ),
  }
}

const listStreamHosts = (streams: HostUsers): readonly Host[] =>
  listEndpointHosts(streams.flatMap(({ endpoints }) => endpoints))

const defaults: Row = Settings.parse({})

/**
 * Converts a variable's text to the type of its setting. Invalid text stays text, and the schema rejects it.
 */
const parseValue = (setting: string, usual: unknown, text: string): unknown => {
  if (setting === 'headers' || setting === 'watchlists' || setting === 'watch') return parseJson(text)
  if (setting === 'streams' || setting === 'with') return splitTrimmed(text, ',')
  if (typeof usual === 'boolean') return parseBoolean(text)
  if (typeof usual === 'number') return parseNumberText(text)
  if (isRow(usual)) return parsePairs(text)
  return text
}

const splitTrimmed = (text: string, separator: string): readonly string[] =>
  text.split(separator).map((part) => part.trim())

const parseBoolean = (text: string): boolean | string =>
  /^(true|1|yes|on)$/i.test(text) ? true : /^(false|0|no|off)$/i.test(text) ? false : text

const parseNumberText = (text: string): number | string =>
  /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text

/** Reads `market-news=10,all-ohlcv=8`; anything else stays text. */
const parsePairs = (text: string): Row | string => {
  const pairs = splitTrimmed(text, ',').map((pair) => splitTrimmed(pair, '='))
  if (pairs.some(({ length }) => length !== 2)) return text
  return Object.fromEntries(pairs.map(([name = '', value = '']) => [name, parseNumberText(value)]))
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A name without what is often added or left out. */
const toBareName = (name: string): string => name.toUpperCase().replace(/^SCRIPSTREAM_|_/g, '')

/** A warning for each variable that looks like a misspelt one of ours. */
export const findMisspeltVariables = (env: EnvironmentVariables, streams: HostUsers): readonly string[] => {
  const known = [
    ...Object.values(environmentNames),
    ...listStreamOptions(streams).map(({ variable }) => variable),
    ...listStreamHosts(streams).map(toAddressVariable),
    'SCRIPSTREAM_ENGINE',
    'SCRIPSTREAM_BLOBS',
    'SCRIPSTREAM_NOTIFY_TEXT',
  ]
  return Object.keys(env)
    .filter((name) => /SCRI|FETCH_|FORCE_|NEWS_/i.test(name) && !known.includes(name))
    .flatMap((name) => {
      const same = known.find((one) => toBareName(one) === toBareName(name))
      const near =
        same ?? (name.startsWith('SCRIPSTREAM_') ? findClosest(name, known) : findNearMatch(name, known))
      return near === undefined ? [] : [`unknown variable ${name} is ignored. Did you mean ${near}?`]
    })
}
