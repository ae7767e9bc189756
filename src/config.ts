import { dirname, resolve } from 'node:path'
import stripJsonComments from 'strip-json-comments'
import type { z } from 'zod'
import type { StreamDefinition } from './engine/define-stream.js'
import { readEnvironment } from './model/environment.js'
import { UsageError } from './model/errors.js'
import { isRow, type Row } from './model/row.js'
import {
  builtInHosts,
  environmentNames,
  Settings,
  type SettingsInput,
  toAddressSetting,
  toAddressVariable,
} from './model/settings.js'
import {
  createSettingsError,
  findSettingsIssues,
  isAddressSetting,
  type SettingsIssue,
} from './model/settings-issues.js'
import { listStreamOptions } from './model/stream-options.js'
import { disk } from './storage/disk.js'
import { describeFileError, getErrorCode } from './storage/file-system.js'
import { limitNames } from './verify/finding.js'

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
  /**
   * Where a setting comes from: `urls.news in scripstream.config.json:8`, a variable or an option. `path`:
   * the setting, or a name in it.
   */
  readonly formatOrigin: (setting: string, path: string) => string
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

/** The settings that a notification needs. */
const NOTIFY_SETTINGS = ['notify', 'notifyOn', 'notifySecret', 'out'] as const

/**
 * Those settings alone, each if its own value is right: what is wrong elsewhere, or a file with a mistake,
 * silences no alarm.
 */
export const loadNotifySettings = ({
  flags = {},
  env = {},
  configFile,
  streams,
}: SettingsSources): Settings => {
  const layers = [
    () => findTexts(configFile),
    () => readFileLayer(configFile).values,
    () => readEnvironment(env, streams),
    () => flags,
  ]
  const values = layers.map(readOrNothing).reduce(merge)
  const usable = NOTIFY_SETTINGS.filter(
    (name) => values[name] !== undefined && Settings.shape[name].safeParse(values[name]).success,
  )
  return Settings.parse(Object.fromEntries(usable.map((name) => [name, values[name]])))
}

/** Those settings in a file that is not valid JSON as a whole. */
const findTexts = (configFile = CONFIG_FILE): Row => {
  const path = resolve(configFile)
  const text = stripJsonComments(disk.readFileSync(path, 'utf8'))
  const found = NOTIFY_SETTINGS.flatMap(
    (name) => new RegExp(`"${name}"\\s*:\\s*"(?:[^"\\\\]|\\\\.)*"`).exec(text) ?? [],
  )
  return resolvePaths(JSON.parse(`{${found}}`), dirname(path))
}

const readOrNothing = (read: () => Row): Row => {
  try {
    return read()
  } catch {
    return {}
  }
}

const readLayers = ({
  flags = {},
  env = {},
  configFile,
  streams,
}: SettingsSources): readonly SettingsLayer[] => [
  readFileLayer(configFile),
  { values: readEnvironment(env, streams), formatOrigin: (setting) => formatVariable(setting, streams) },
  { values: flags, formatOrigin: formatFlag },
]

/**
 * Where each setting that is not its default comes from. Settings with names have one place each, and each
 * field of a service: `hosts.news.url`.
 */
export const findOrigins = (sources: SettingsSources): ReadonlyMap<string, string> =>
  new Map(
    readLayers(sources).flatMap(({ values, formatOrigin }) =>
      flattenSettings(values).flatMap(([name, value]) => {
        const origin = formatOrigin(name, name)
        const fields = isRow(value) ? Object.keys(value).map((field) => `${name}.${field}`) : []
        const inside = fields.map((field) => [field, formatOrigin(field, field)] as const)
        // An address alone is short for `{ url: … }`.
        const short = name.startsWith('hosts.') && !isRow(value) ? [[`${name}.url`, origin] as const] : []
        return [[name, origin] as const, ...inside, ...short]
      }),
    ),
  )

/** Settings with their values, those with names one by one: `urls.news`, `workers.market-news`,
 * `options.market-news.newsLimit`. */
export const flattenSettings = (values: object): readonly (readonly [name: string, value: unknown])[] =>
  Object.entries(values).flatMap(([name, value]) => {
    const parts = isRow(value) ? Object.entries(value) : []
    if (name === 'options') return parts.flatMap(([key, own]) => flattenSettings({ [`${name}.${key}`]: own }))
    if (isRow(value)) return parts.map(([key, one]) => [`${name}.${key}`, one] as const)
    return value === undefined ? [] : [[name, value] as const]
  })

/**
 * The absolute paths of the modules with streams of an app. They are found before the other settings are
 * read, because those may name their streams.
 */
export const findStreamModules = ({
  flags = {},
  env = {},
  configFile,
}: Omit<SettingsSources, 'streams'>): readonly string[] => {
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
const findIssues = (
  { values, formatOrigin }: SettingsLayer,
  streams: readonly StreamDefinition[],
): readonly SettingsIssue[] => {
  const streamNames = streams.map(({ name }) => name)
  const stream = { what: 'stream', names: streamNames }
  const optional = streams.filter((one) => one.optional).map(({ name }) => name)
  const known = {
    workers: stream,
    timeoutsMs: stream,
    verify: { what: 'check', names: limitNames },
    with: { ...stream, shown: optional },
  }
  return findSettingsIssues(values, known, streams).map((issue) => ({
    ...issue,
    message: `${formatOrigin(issue.setting, issue.path)} ${issue.message}`,
  }))
}

const readFileLayer = (given: string | undefined): SettingsLayer => {
  const path = resolve(given ?? CONFIG_FILE)
  let lines: ReadonlyMap<string, number> = new Map()
  const formatOrigin = (setting: string, name: string): string => {
    const line = lines.get(name) ?? lines.get(setting)
    return `${setting === '' ? '' : `${setting} in `}${given ?? CONFIG_FILE}${line === undefined ? '' : `:${line}`}`
  }
  try {
    const bytes = disk.readFileSync(path)
    if (bytes.includes(0)) throw new Error('it is not UTF-8 text (it may be UTF-16); save it as UTF-8')
    // Comments become blanks, so that positions stay.
    const text = stripJsonComments(bytes.toString().replace(/^\ufeff/, ''), { trailingCommas: true })
    const scanned = scanJson(text)
    // Not the message of `JSON.parse`: it quotes a part of the file, which may be a secret.
    if (scanned.mistake !== undefined) throw new Error(scanned.mistake)
    lines = scanned.lines
    return { values: resolvePaths(JSON.parse(text), dirname(path)), formatOrigin }
  } catch (error) {
    if (given === undefined && getErrorCode(error) === 'ENOENT') return { values: {}, formatOrigin }
    throw new UsageError(`cannot use the settings file ${path}: ${describeFileError(error, 'read')}`)
  }
}

/** Settings that are paths. */
const PATH_SETTINGS = ['out', 'holidays', 'logFile', 'metricsFile']

/** The settings of a file with its relative paths as absolute ones: they are relative to its folder. */
const resolvePaths = (values: Row, folder: string): Row => {
  const toAbsolute = (value: unknown, pattern: RegExp): unknown =>
    typeof value === 'string' ? value.replace(pattern, (path) => resolve(folder, path)) : value
  const { watchlists, notify } = values
  return {
    ...values,
    ...Object.fromEntries(
      PATH_SETTINGS.flatMap((name) => (name in values ? [[name, toAbsolute(values[name], /^.+$/s)]] : [])),
    ),
    // A command such as `./notify.sh --all`.
    ...(notify === undefined ? {} : { notify: toAbsolute(notify, /^\.\.?\/\S+/) }),
    ...(isRow(watchlists)
      ? {
          watchlists: Object.fromEntries(
            Object.entries(watchlists).map(([name, list]) => [name, toAbsolute(list, /(?<=^@).+$/s)]),
          ),
        }
      : {}),
  }
}

const formatVariable = (setting: string, streams: readonly StreamDefinition[]): string => {
  const own = listStreamOptions(streams).find(({ path }) => path === setting)
  if (own) return own.variable
  const [group = '', host] = setting.split('.')
  return isAddressSetting(group) && host !== undefined
    ? toAddressVariable(host)
    : (environmentNames[group] ?? setting)
}

const formatFlag = (setting: string): string =>
  `--${setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

/** A row of the settings table in the README and `--help`. */
export interface SettingRow {
  readonly name: string
  readonly env: string
  readonly default: string
  readonly description: string
}

/** The rows of all settings; those that streams declare come last. */
export const settingRows = (streams: readonly StreamDefinition[]): readonly SettingRow[] => [
  ...Object.entries(Settings.shape).flatMap(([name, schema]) => {
    if (name === 'options') return []
    const row = describeSetting(schema)
    if (name === 'hosts') return [{ name: 'hosts.<name>', env: toAddressVariable('<name>'), ...row }]
    if (name !== 'urls') return [{ name, env: environmentNames[name] ?? '', ...row }]
    return builtInHosts.map((host) => ({
      name: toAddressSetting(host),
      env: toAddressVariable(host),
      default: '',
      description: `base address of the ${host} service; may include a path`,
    }))
  }),
  ...listStreamOptions(streams).map(({ path: name, variable: env, schema }) => ({
    name,
    env,
    ...describeSetting(schema),
  })),
]

const describeSetting = (schema: z.ZodType): Pick<SettingRow, 'default' | 'description'> => {
  const value: unknown = schema.safeParse(undefined).data
  return {
    default: value === undefined || typeof value === 'object' ? '' : String(value),
    description: schema.description ?? '',
  }
}

const JSON_TEXT = /^"(?:[ !#-[\]-\u{10ffff}]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*"$/u
const PLAIN = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/

/** What may follow in each state. */
const EXPECTED = {
  start: '{',
  value: 'a text in double quotes, a number, true, false, null, [ or {',
  name: 'a name in double quotes, or }',
  colon: 'a colon',
  comma: 'a comma, or the end of the list or object',
  end: 'nothing after the last }',
} as const

/**
 * Scans the text of a JSON object without comments: the line of each name down to the third level
 * (`hosts.news.url`), and the first mistake with its place, without what the text has there. A comma before
 * the end of a list or object is no mistake.
 */
export const scanJson = (
  text: string,
): { readonly lines: ReadonlyMap<string, number>; readonly mistake?: string } => {
  const lines = new Map<string, number>()
  const [open, names]: [string[], string[]] = [[], []]
  let state: keyof typeof EXPECTED = 'start'
  const lineAt = (index: number): number => text.slice(0, index).split('\n').length
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\\n]|\\.)*"?|[{}[\]:,]|[^\s{}[\]:,"]+/g)) {
    const end = open.at(-1) === '{' ? '}' : ']'
    const isPlain = JSON_TEXT.test(token) || PLAIN.test(token)
    if (token === end && (state === 'comma' || state === (end === '}' ? 'name' : 'value'))) {
      open.pop()
      state = open.length === 0 ? 'end' : 'comma'
    } else if ((state === 'value' && token === '[') || (/^(start|value)$/.test(state) && token === '{')) {
      open.push(token)
      state = token === '{' ? 'name' : 'value'
    } else if (state === 'name' && JSON_TEXT.test(token)) {
      names.splice(open.length - 1, names.length, token.slice(1, -1))
      if (open.length <= 3) lines.set(names.join('.'), lineAt(index))
      state = 'colon'
    } else if (state === 'value' && isPlain) state = 'comma'
    else if (state === 'colon' && token === ':') state = 'value'
    else if (state === 'comma' && token === ',') state = end === '}' ? 'name' : 'value'
    else {
      const expected =
        token.startsWith('"') && !isPlain
          ? 'a text that ends with " on its line, with \\\\ for each \\'
          : EXPECTED[state]
      const column = index - text.lastIndexOf('\n', index - 1)
      return { lines, mistake: `line ${lineAt(index)}, column ${column}: expected ${expected}` }
    }
  }
  return state === 'end'
    ? { lines }
    : { lines, mistake: `the file ends on line ${lineAt(text.length)}: expected ${EXPECTED[state]}` }
}
