import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import stripJsonComments from 'strip-json-comments'
import { limitNames } from './analysis/verify/finding.js'
import { readEnvironment } from './model/environment.js'
import { formatError, UsageError } from './model/errors.js'
import { isRow, type Row } from './model/row.js'
import { builtInHosts, environmentNames, Settings, type SettingsInput, toAddressSetting, toAddressVariable } from './model/settings.js'
import { createSettingsError, findSettingsIssues, isAddress, type SettingsIssue } from './model/settings-issues.js'
import type { StreamDefinition } from './pipeline/define-stream.js'
import { describeFileError } from './storage/file-system.js'

export const CONFIG_FILE = 'scripstream.config.json'

/** The sources of settings, by priority: flags, environment, file, defaults. */
export interface SettingsSources {
  readonly flags?: SettingsInput | undefined
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** A file that must exist. Default: `scripstream.config.json` in the current folder, if it exists. */
  readonly configFile?: string | undefined
  /** The streams that `workers` and `timeoutsMs` may name. */
  readonly streams: readonly StreamDefinition[]
}

/** The settings of one source. */
interface SettingsLayer {
  readonly values: Row
  /** The place of a setting in it: the file, a variable or an option. */
  readonly findPlace: (setting: string) => string
  /** The name of a setting there. */
  readonly formatName: (setting: string) => string
}

/**
 * The effective settings: flag > environment > file > default.
 *
 * @throws UsageError that names each wrong value, its source and the remedy
 * @example createCollector({ settings: loadSettings({ env: process.env, streams }), streams })
 */
export const loadSettings = (sources: SettingsSources): Settings => {
  const layers = readLayers(sources)
  const issues = layers.flatMap((layer) => findIssues(layer, sources.streams))
  if (issues.length > 0) throw createSettingsError(issues)
  return Settings.parse(layers.reduce((all, { values }) => merge(all, values), {} as Row))
}

const readLayers = ({ flags = {}, env = {}, configFile, streams }: SettingsSources): readonly SettingsLayer[] => {
  const formatFlag = (setting: string): string => `--${setting}`
  return [
    readFileLayer(configFile),
    { values: readEnvironment(env, streams), findPlace: formatVariable, formatName: formatVariable },
    { values: flags, findPlace: formatFlag, formatName: formatFlag },
  ]
}

/** The place of each setting that is not its default: the file, a variable or an option. Settings with names have one place each. */
export const findOrigins = (sources: SettingsSources): ReadonlyMap<string, string> =>
  new Map(readLayers(sources).flatMap(({ values, findPlace }) => flattenSettings(values).map(([name]) => [name, findPlace(name)] as const)))

/** Settings with their values, those with names one by one: `urls.news`, `workers.market-news`. */
export const flattenSettings = (values: object): readonly (readonly [name: string, value: unknown])[] =>
  Object.entries(values).flatMap(([name, value]) => {
    if (isRow(value)) return Object.entries(value).map(([key, one]) => [`${name}.${key}`, one] as const)
    return value === undefined ? [] : [[name, value] as const]
  })

/**
 * The absolute paths of the modules with streams of an app. They are found before the other settings are read, because those may name
 * their streams.
 */
export const findStreamModules = ({ flags = {}, env = {}, configFile }: Omit<SettingsSources, 'streams'>): readonly string[] => {
  const inFile = readFileLayer(configFile).values.streams
  const folder = dirname(resolve(configFile ?? CONFIG_FILE))
  const named = flags.streams ?? readEnvironment(env, []).streams
  const { data = [] } = Settings.shape.streams.safeParse(named ?? inFile)
  return data.map((path) => (named === undefined ? resolve(folder, path) : resolve(path)))
}

const merge = (lower: Row, upper: Row): Row =>
  Object.fromEntries(
    [...new Set([...Object.keys(lower), ...Object.keys(upper)])].map((key) => {
      const [below, above] = [lower[key], upper[key]]
      return [key, isRow(below) && isRow(above) ? merge(below, above) : above === undefined ? below : above]
    }),
  )

/** The problems of a layer, each with the place of the setting. */
const findIssues = ({ values, formatName }: SettingsLayer, streams: readonly StreamDefinition[]): readonly SettingsIssue[] => {
  const streamNames = streams.map(({ name }) => name)
  const stream = { what: 'stream', names: streamNames }
  const known = { workers: stream, timeoutsMs: stream, verify: { what: 'check', names: limitNames } }
  return findSettingsIssues(values, known).map((issue) => ({ ...issue, message: `${formatName(issue.setting)} ${issue.message}` }))
}

const readFileLayer = (given: string | undefined): SettingsLayer => {
  const path = resolve(given ?? CONFIG_FILE)
  const place = {
    findPlace: () => given ?? CONFIG_FILE,
    formatName: (setting: string) => (setting === '' ? path : `${setting} in ${path}`),
  }
  try {
    // Comments become blanks, so that positions stay.
    const text = stripJsonComments(readFileSync(path, 'utf8').replace(/^\ufeff/, ''), { trailingCommas: true })
    const values = parseConfig(text)
    if (!isRow(values)) throw new Error('it must contain a JSON object')
    return { values: resolvePaths(values, dirname(path)), ...place }
  } catch (error) {
    if (given === undefined && (error as { readonly code?: string }).code === 'ENOENT') return { values: {}, ...place }
    throw new UsageError(`cannot use the configuration file ${path}: ${describeFileError(error, 'read')}`)
  }
}

/** The settings of a file with the paths of its holidays and watchlists relative to its folder. */
const resolvePaths = (values: Row, folder: string): Row => {
  const { holidays, watchlists } = values
  const toAbsolute = (list: unknown): unknown =>
    typeof list === 'string' && list.startsWith('@') ? `@${resolve(folder, list.slice(1))}` : list
  return {
    ...values,
    ...(typeof holidays === 'string' && holidays !== '' ? { holidays: resolve(folder, holidays) } : {}),
    ...(isRow(watchlists)
      ? { watchlists: Object.fromEntries(Object.entries(watchlists).map(([name, list]) => [name, toAbsolute(list)])) }
      : {}),
  }
}

/** Says where the file is not JSON, if that is known, without the part of it that Node's message quotes: that may be a secret. */
const parseConfig = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    const position = / at position (\d+)/.exec(formatError(error))?.[1]
    if (position === undefined) throw new Error('it is not JSON')
    const lines = text.slice(0, Number(position)).split('\n')
    throw new Error(`it is not JSON at line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`)
  }
}

const formatVariable = (setting: string): string => {
  const [group = '', host] = setting.split('.')
  return isAddress(group) && host !== undefined ? toAddressVariable(host) : (environmentNames[group] ?? setting)
}

/** A row of the settings table in the README and `--help`. */
export interface SettingRow {
  readonly name: string
  readonly env: string
  readonly default: string
  readonly description: string
}

export const settingRows: readonly SettingRow[] = Object.entries(Settings.shape).flatMap(([name, schema]) => {
  const value: unknown = Settings.parse({})[name as keyof Settings]
  const row = { default: value === undefined || typeof value === 'object' ? '' : String(value), description: schema.description ?? '' }
  if (name === 'hosts') return [{ name: 'hosts.<name>', env: toAddressVariable('<name>'), ...row }]
  if (name !== 'urls') return [{ name, env: environmentNames[name] ?? '', ...row }]
  return builtInHosts.map((host) => ({
    ...{ name: toAddressSetting(host), env: toAddressVariable(host), default: '' },
    description: `base address of the ${host} service; may include a path`,
  }))
})
