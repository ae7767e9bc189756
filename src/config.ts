import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import stripJsonComments from 'strip-json-comments'
import type { z } from 'zod'
import { limitNames } from './analysis/verify/finding.js'
import { readEnvironment } from './model/environment.js'
import { formatError, UsageError } from './model/errors.js'
import { isRow, type Row } from './model/row.js'
import {
  builtInHosts,
  environmentNames,
  explainIssue,
  Settings,
  type SettingsInput,
  toAddressSetting,
  toAddressVariable,
} from './model/settings.js'
import { didYouMean } from './model/text.js'
import type { StreamDefinition } from './pipeline/define-stream.js'

export const CONFIG_FILE = 'scripstream.config.json'

/** The sources of settings, by priority: flags, environment, file, defaults. */
export interface SettingsSources {
  readonly flags?: SettingsInput
  readonly env?: Readonly<Record<string, string | undefined>>
  /** A file that must exist. Default: `scripstream.config.json` in the current folder, if it exists. */
  readonly configFile?: string | undefined
  /** The streams that `workers` and `timeoutsMs` may name. */
  readonly streams: readonly StreamDefinition[]
}

/** The settings of one source; `formatName` formats the name of a setting there. */
interface SettingsLayer {
  readonly values: Row
  readonly formatName: (setting: string) => string
}

/** The effective settings: flag > environment > file > default. @throws UsageError that names a wrong value, its source and the remedy */
export const loadSettings = ({ flags = {}, env = {}, configFile, streams }: SettingsSources): Settings => {
  const layers = [
    readFileLayer(configFile),
    { values: readEnvironment(env, streams), formatName: formatVariable },
    { values: flags, formatName: (setting: string) => `--${setting}` },
  ]
  for (const layer of layers) checkLayer(layer, streams)
  return Settings.parse(layers.reduce((all, { values }) => merge(all, values), {} as Row))
}

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

const checkLayer = ({ values, formatName }: SettingsLayer, streams: readonly StreamDefinition[]): void => {
  const issue = Settings.safeParse(values).error?.issues[0]
  if (issue) {
    const code = issue.code === 'unrecognized_keys' ? 'unknown-setting' : 'usage'
    throw new UsageError(`${formatName(findSetting(issue, values))} ${describeIssue(issue, values)}`, { code })
  }
  const streamNames = streams.map(({ name }) => name)
  const known = [
    ['workers', 'stream', streamNames],
    ['timeoutsMs', 'stream', streamNames],
    ['verify', 'check', limitNames],
  ] as const
  for (const [setting, what, names] of known) {
    const unknown = Object.keys(isRow(values[setting]) ? values[setting] : {}).find((name) => !names.includes(name))
    if (unknown === undefined) continue
    const plural = `${what[0]?.toUpperCase()}${what.slice(1)}s`
    throw new UsageError(
      `${formatName(setting)} names ${JSON.stringify(unknown)}, which is not a ${what}.${didYouMean(unknown, names)} ${plural}: ${names.join(', ')}`,
    )
  }
}

const findSetting = ({ path }: z.core.$ZodIssue, values: Row): string => {
  const [setting = '', host] = path.map(String)
  return isAddress(setting) && host !== undefined && isRow(values[setting]) ? `${setting}.${host}` : setting
}

/** Whether a setting contains base addresses. */
const isAddress = (setting: unknown): boolean => setting === 'urls' || setting === 'hosts'

const describeIssue = (issue: z.core.$ZodIssue, values: Row): string => {
  if (issue.code === 'unrecognized_keys') {
    const [first = ''] = issue.keys
    return `has no setting ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}.${didYouMean(first, issue.path[0] === 'urls' ? builtInHosts : Object.keys(Settings.shape))}`
  }
  const given = issue.path.reduce<unknown>((value, key) => (isRow(value) ? value[String(key)] : undefined), values)
  const where =
    issue.path.length > 1 && issue.code !== 'invalid_key' && !isAddress(issue.path[0]) ? ` (${issue.path.slice(1).join('.')})` : ''
  return `is ${formatValue(given, String(issue.path[0]))}${where}: ${explainIssue(issue).replace(/^(Invalid|Too)/, (word) => word.toLowerCase())}`
}

/** A wrong value as text; values that may identify the user are not shown. */
const formatValue = (given: unknown, setting: string): string => {
  if (['headers', 'sheetId', 'asmTabId', 'gsmTabId'].includes(setting)) return 'wrong (value not shown)'
  const text = JSON.stringify(given)
  return isAddress(setting) ? text.replace(/^.*@/s, '"…@').replace(/[?#].*(?=")/s, '?…') : text
}

const readFileLayer = (given: string | undefined): SettingsLayer => {
  const path = resolve(given ?? CONFIG_FILE)
  const formatName = (setting: string): string => (setting === '' ? path : `${setting} in ${path}`)
  try {
    // Comments become blanks, so that positions stay.
    const text = stripJsonComments(readFileSync(path, 'utf8').replace(/^\ufeff/, ''), { trailingCommas: true })
    const values = parseConfig(text)
    if (!isRow(values)) throw new Error('it must contain a JSON object')
    return { values, formatName }
  } catch (error) {
    if (given === undefined && (error as { readonly code?: string }).code === 'ENOENT') return { values: {}, formatName }
    throw new UsageError(`cannot use the configuration file ${path}: ${formatError(error)}`)
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
  const [group, host] = setting.split('.')
  return isAddress(group) && host !== undefined ? toAddressVariable(host) : (environmentNames[setting] ?? setting)
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
