import { z } from 'zod'
import { readDay, readHours } from './trading-day.js'

/** The services of the interface document, each with its own base address. */
export const builtInHosts = [
  'analytics',
  'fundamental',
  'static',
  'news',
  'ticks',
  'archive',
  'sheet',
  'web',
] as const
/** The name of a service that the built-in streams use. */
export type BuiltInHost = (typeof builtInHosts)[number]

/**
 * The name of a service: a built-in one, as in `urls.news`, or one of your own, as in `hosts.options`. Both
 * have settings in `hosts`.
 */
export type Host = BuiltInHost | (string & {})

export const isBuiltInHost = (name: string): name is BuiltInHost =>
  (builtInHosts as readonly string[]).includes(name)

const BaseUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http(s) address such as https://example.com/path' })
  .regex(/^[^?#@]*$/, 'must have no query and no credentials (set those in headers)')
/** The name becomes part of a variable's name, of a metric's label and of the simulator's paths. */
const HostName = z.string().regex(/^[a-z][a-z0-9_]*$/, 'must have names of lower-case letters, digits and _')
const Headers = z.record(
  z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must have names that a header can have'),
  z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must have only characters that a header can have'),
  'must be an object such as {"authorization":"Bearer …"}',
)
const HostSettings = z.strictObject({
  url: BaseUrl.optional(),
  headers: Headers.default({}),
  maxRate: z.number({ error: 'must be a number above 0' }).positive('must be a number above 0').optional(),
})
/** The fields of the settings of one host. */
export const hostFields: readonly string[] = Object.keys(HostSettings.shape)
const integerSchema = (least: number, most: number) => {
  const error = `must be a whole number from ${least} to ${most}`
  return z.int({ error }).min(least, { error }).max(most, { error })
}
const oneOrMoreTexts = (error: string) => {
  const text = z.string().min(1)
  return z.union([text.transform((one) => [one]), z.array(text)], error).default([])
}
/** Numbers by names, as a variable of the environment and a file have them. */
const numbersByName = (example: string, least: number, most: number) =>
  z
    .record(
      z.string(),
      integerSchema(least, most),
      `must be such as ${example}=10, in a file { "${example}": 10 }`,
    )
    .default({})
const booleanSchema = z.boolean({ error: 'must be true or false' })

const OPTIONS_RULE = 'must be an object such as {"market-news":{"newsLimit":20}}'
const SESSIONS_EXAMPLE = 'must be such as 2026-11-08=18:00-19:15, in a file { "2026-11-08": "18:00-19:15" }'
const SessionHours = z
  .string({ error: 'must be hours such as "18:00-19:15"' })
  .regex(/^([01]\d|2[0-3]):[0-5]\d-(([01]\d|2[0-3]):[0-5]\d|24:00)$/, {
    error: 'must be hours in India such as "18:00-19:15"',
    abort: true,
  })
  .refine((hours) => {
    const [opens, ends] = readHours(hours)
    return opens < ends
  }, 'must end after it begins')

const LIST_OR_FILE = 'must be a list of symbols, or "@FILE"'

const DURATION_UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }

/** A duration such as `90s`, `10m`, `1h` or `0`, in milliseconds; `NaN` if it is none. */
export const parseDuration = (text: string): number => {
  const [, amount, unit = ''] = /^(\d{1,6})([smh]?)$/.exec(text.trim()) ?? []
  return amount === '0' ? 0 : Number(amount) * (DURATION_UNITS[unit] ?? Number.NaN)
}

const MAX_PATIENCE_MS = 86_400_000
const PATIENCE = 'must be a time such as 90s, 10m or 1h, at most 24h'

/** When a notification is sent; each one includes the ones before. */
export const NOTIFY_CONDITIONS = ['failure', 'change', 'always'] as const

/** What may happen to a row of a rule from one session to the next. */
export const ROW_CHANGES = ['entered', 'left', 'changed'] as const

/** A rule: a query whose rows are compared from one session to the next. */
export const WatchRule = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,49}$/, 'must have small letters, digits and dashes, such as my-rule'),
  query: z.string().min(1),
  /** The columns that say what a row is about. Default: `symbol` if there is such a column, otherwise all. */
  key: z.array(z.string().min(1)).min(1).optional(),
  /** Which changes are signals; all if absent. */
  only: z
    .array(z.enum(ROW_CHANGES, { error: 'must be entered, left or changed' }))
    .min(1)
    .optional(),
  /** Whether a signal makes a notification due. */
  notify: booleanSchema.optional(),
  /** For how long a key has no further signal after one. */
  cooldown: z
    .string()
    .regex(/^\d{1,3} sessions?$/, 'must be a number of sessions, such as "5 sessions"')
    .optional(),
})
export type WatchRule = Readonly<z.output<typeof WatchRule>>

/**
 * With which value of a setting an unfinished run may be resumed, or an ended one be used: with any, because
 * what is stored does not depend on it, with the same, with the same addresses, or as each option says.
 */
export type ResumeValue = 'any' | 'same' | 'addresses' | 'options'

/** What each setting says of itself. `--help` and the README show the descriptions. */
const about = (resume: ResumeValue, description: string) => ({ resume, description })

/** All settings. Durations end in `Ms`, but for `patience`, which is text such as `5m`. */
export const Settings = z.strictObject({
  urls: z
    .partialRecord(z.enum(builtInHosts), BaseUrl)
    .default({})
    .meta(about('addresses', 'base address of each service; may include a path')),
  hosts: z
    .record(
      HostName,
      z
        .custom<string | z.input<typeof HostSettings>>()
        .transform((given) => (typeof given === 'string' ? { url: given } : given))
        .pipe(HostSettings),
    )
    .default({})
    .meta(
      about(
        'addresses',
        'settings of one service, built-in or of streams of your own: its address (`url`; one in `urls` goes before it), `headers` that go to no other service, and `maxRate`, the most requests a second',
      ),
    ),
  exchange: z
    .string()
    .regex(/^[A-Za-z]{2,10}$/, 'must be an exchange code such as NSE')
    .transform((code) => code.toUpperCase())
    .default('NSE')
    .meta(about('same', 'exchange code, for example NSE')),
  out: z
    .string()
    .min(1, 'must be a folder such as ./data')
    .default('./data')
    .meta(about('any', 'output folder; in a settings file relative to that file, like every path there')),
  fetchOhlcv: booleanSchema.default(true).meta(about('any', 'whether the candle streams run')),
  history: booleanSchema
    .default(true)
    .meta(about('any', 'whether each day is kept in `.scripstream/history`')),
  lake: booleanSchema
    .default(false)
    .meta(about('any', 'whether each run writes `lake/`, Parquet files of all tables; needs DuckDB')),
  holidays: z.string().min(1).optional().meta(about('any', 'file of weekdays without a session, one a line')),
  sessions: z
    .record(
      z.string().refine((day) => readDay(day) === day, 'must have days such as 2026-11-08'),
      SessionHours,
      SESSIONS_EXAMPLE,
    )
    .default({})
    .meta(
      about(
        'any',
        'special sessions, on any day, with their hours in India; such a day has a session although it is a holiday or a weekend',
      ),
    ),
  stale: z
    .enum(['note', 'fail'], { error: 'must be note or fail' })
    .default('note')
    .meta(
      about(
        'any',
        'outputs that end before a session that is due: `note` them, and exit with 3 from the second session on, or `fail` at once',
      ),
    ),
  options: z
    .record(z.string(), z.record(z.string(), z.unknown(), OPTIONS_RULE), OPTIONS_RULE)
    .default({})
    .meta(about('options', 'settings that single streams declare, by the name of the stream')),
  retries: integerSchema(0, 10).default(2).meta(about('any', 'retries after a failed request')),
  patience: z
    .string(PATIENCE)
    .refine((text) => parseDuration(text) <= MAX_PATIENCE_MS, PATIENCE)
    .default('5m')
    .meta(
      about(
        'any',
        'how long a run waits for a host that is down, in total, and for an endpoint that refuses every request',
      ),
    ),
  workers: numbersByName('market-news', 1, 1_000).meta(
    about('any', 'parallel requests of a stream, by its name'),
  ),
  timeoutsMs: numbersByName('market-news', 1, 600_000).meta(
    about(
      'any',
      'longest time without a byte of a reply, by the name of the stream; a whole reply may take six times as long',
    ),
  ),
  headers: Headers.default({}).meta(
    about(
      'any',
      'request headers for all services, added to the default ones or instead of them; a secret of one service belongs in `hosts`',
    ),
  ),
  with: oneOrMoreTexts('must be the name of a stream or a list of names').meta(
    about('any', 'optional streams that run, too: `exchange-daily`, `index-members`'),
  ),
  streams: oneOrMoreTexts('must be a path or a list of paths').meta(
    about('any', 'modules with streams of your own, for the command'),
  ),
  watchlists: z
    .record(
      z.string().regex(/^[\w-]+$/, 'must have names of letters, digits, _ and -'),
      z.union([z.array(z.string().min(1)).min(1), z.string().regex(/^@./s, LIST_OR_FILE)], {
        error: LIST_OR_FILE,
      }),
      'must be an object such as {"mine":["TCS","INFY"]}',
    )
    .default({})
    .meta(
      about('any', 'lists of symbols by name, for the command; `@FILE` is a file with one symbol per line'),
    ),
  watch: z
    .array(WatchRule, 'must be a list such as [{"name":"highs","query":"near-highs"}]')
    .check(({ value, issues }) => {
      const again = value.findIndex(({ name }, place) => value.findIndex((one) => one.name === name) < place)
      if (again >= 0)
        issues.push({
          code: 'custom',
          input: value,
          path: [again, 'name'],
          message: 'must be the name of one rule only',
        })
    })
    .default([])
    .meta(
      about(
        'any',
        'queries that stand, for the command: `name`, `query`, `key`, `only`, `notify` and `cooldown`; what changes in their rows is a signal',
      ),
    ),
  verify: numbersByName('warnings', 0, 1_000_000).meta(
    about(
      'any',
      'allowed number of findings of `verify`: `errors` (default 0), `warnings`, or the name of a check',
    ),
  ),
  notify: z
    .string()
    .refine(
      (target) => target.trim() !== '' && (!/^https?:/i.test(target) || URL.canParse(target)),
      'must be a command or an http(s) address',
    )
    .optional()
    .meta(about('any', 'command, or http(s) address, that receives a notification when a run ends')),
  notifyOn: z
    .enum(NOTIFY_CONDITIONS, { error: 'must be failure, change or always' })
    .default('failure')
    .meta(
      about('any', 'when: `failure`, also on a `change` (of the watchlist, if there is one), or `always`'),
    ),
  notifySecret: z
    .string()
    .min(8, 'must have at least 8 characters')
    .optional()
    .meta(about('any', 'secret that signs what is posted to the address in `notify`')),
  logFile: z.string().min(1).optional().meta(about('any', 'file to which runs also write their log')),
  metricsFile: z
    .string()
    .regex(/[^/\\]\.prom$/, 'must end in .prom, because node_exporter reads no other files')
    .optional()
    .meta(
      about(
        'any',
        'file into which a run writes its metrics when it ends, for the textfile collector of node_exporter',
      ),
    ),
})
export type Settings = Readonly<z.output<typeof Settings>>
/** The settings of which a run must have the same value to be resumed. */
export const listSameSettings = (): readonly (keyof Settings)[] =>
  (Object.keys(Settings.shape) as (keyof Settings)[]).filter(
    (name) => Settings.shape[name].meta()?.resume === ('same' satisfies ResumeValue),
  )

/** The types of JSON in plain words. */
const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  tuple: 'a list',
}

/**
 * What is wrong with a value, in our words where the schema has none of its own; for a wrong name in a
 * record, what is wrong with the name.
 */
export const explainIssue = (issue: z.core.$ZodIssue): string => {
  if (issue.code === 'invalid_key') return issue.issues[0]?.message ?? issue.message
  if (issue.code === 'unrecognized_keys')
    return `has no field ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}`
  if (!/^(Invalid|Too) /.test(issue.message)) return issue.message
  if (issue.code === 'invalid_type')
    return `must be ${TYPE_WORDS[issue.expected] ?? `of the type ${issue.expected}`}`
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.map(String).join(', ')}`
  if (issue.code === 'too_small')
    return issue.origin === 'string' ? 'must not be empty' : `must be ${issue.minimum} or more`
  if (issue.code === 'too_big') return `must be ${issue.maximum} or less`
  return issue.message.replace(/^(Invalid|Too)/, (word) => word.toLowerCase())
}

/** Settings as the user gives them; absent ones get their defaults. */
export type SettingsInput = z.input<typeof Settings>

/** The base address of a service; undefined if it is not set. */
export const findAddress = (
  { urls, hosts }: Pick<Settings, 'urls' | 'hosts'>,
  host: Host,
): string | undefined => (isBuiltInHost(host) ? urls[host] : undefined) ?? hosts[host]?.url

/** The own headers of requests to a service, in lower case: those for all, and those for it alone. */
export const findHeaders = (
  { headers, hosts }: Pick<Settings, 'headers' | 'hosts'>,
  host: Host,
): Settings['headers'] =>
  Object.fromEntries(
    Object.entries({ ...headers, ...hosts[host]?.headers }).map(([name, value]) => [
      name.toLowerCase(),
      value,
    ]),
  )

/** The headers of all services. */
export const listHeaders = ({
  headers = {},
  hosts = {},
}: Partial<Settings>): readonly (readonly [name: string, value: string])[] =>
  [headers, ...Object.values(hosts).map((host) => host.headers)].flatMap((some) => Object.entries(some))

/** The names of all services: the built-in ones, and those of the settings. */
export const listHosts = ({ hosts }: Pick<Settings, 'hosts'>): readonly Host[] => [
  ...new Set([...builtInHosts, ...Object.keys(hosts)]),
]

/** The built-in services, and those that endpoints name. */
export const listEndpointHosts = (endpoints: readonly { readonly host: Host }[]): readonly Host[] => [
  ...new Set<Host>([...builtInHosts, ...endpoints.map(({ host }) => host)]),
]

/** The setting with the base address of a service. */
export const toAddressSetting = (host: Host): string => `${isBuiltInHost(host) ? 'urls' : 'hosts'}.${host}`

/** The environment variable with the base address of a service. */
export const toAddressVariable = (host: Host): string => `SCRIPSTREAM_${host.toUpperCase()}_URL`

/** The environment variable of a setting: `SCRIPSTREAM_LOG_FILE` for `logFile`. */
export const toVariable = (name: string): string => {
  const variable = name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
  return name === 'fetchOhlcv' ? variable : `SCRIPSTREAM_${variable}`
}

/** Settings whose parts have a variable each. */
const GROUP_SETTINGS: readonly string[] = ['urls', 'hosts', 'options']

/** Settings that are gone, with what to use now. To be removed with the next version. */
export const goneSettings: Readonly<Record<string, string>> = {
  downMs: 'set patience',
  throttleGiveUpMs: 'set patience',
  throttleRetries: 'set patience',
  throttleMs: 'set maxRate of the service in hosts',
  throttleMaxMs: 'a pause is never longer than 60 s; set maxRate of the service in hosts',
  backoffMs: 'the first pause is 0.5 s at most; set retries',
}

/** The environment variable of each setting that has one, also of those that are gone. */
export const environmentNames: Readonly<Record<string, string>> = Object.fromEntries(
  Object.keys({ ...Settings.shape, ...goneSettings })
    .filter((name) => !GROUP_SETTINGS.includes(name))
    .map((name) => [name, toVariable(name)]),
)
