import { z } from 'zod'

/** The services of the interface document, each with its own base address. */
export const builtInHosts = ['analytics', 'fundamental', 'static', 'news', 'ticks', 'archive', 'sheet', 'web'] as const
/** The name of a service that the built-in streams use. */
export type BuiltInHost = (typeof builtInHosts)[number]

/** The name of a service: a built-in one, as in `urls.news`, or one of your own, as in `hosts.options`. */
export type Host = BuiltInHost | (string & {})

export const isBuiltInHost = (name: string): name is BuiltInHost => (builtInHosts as readonly string[]).includes(name)

const BaseUrl = z
  .url({ protocol: /^https?$/, error: 'is not an http(s) address' })
  .regex(/^[^?#@]*$/, 'must have neither a query nor credentials; use headers for credentials')
/** The name becomes part of a variable's name, of a metric's label and of the simulator's paths. */
const OwnHost = z
  .string()
  .regex(/^[a-z][a-z0-9_]*$/, 'is not a host name; use lower-case letters, digits and _')
  .refine((name) => !isBuiltInHost(name), 'is a built-in host; set its address in urls')
const integerSchema = (least: number, most: number) => {
  const error = `must be a whole number from ${least} to ${most}`
  return z.int({ error }).min(least, { error }).max(most, { error })
}
const booleanSchema = z.boolean({ error: 'must be true or false' })

/** All settings. `--help` and the README show the descriptions. */
export const Settings = z.strictObject({
  urls: z.partialRecord(z.enum(builtInHosts), BaseUrl).default({}).describe('base address of each service; may include a path'),
  hosts: z.record(OwnHost, BaseUrl).default({}).describe('base addresses of further services, which streams of your own use'),
  sheetId: z.string().min(1).optional().describe('id of the surveillance spreadsheet'),
  asmTabId: z.string().min(1).optional().describe('tab id of the ASM list in the spreadsheet'),
  gsmTabId: z.string().min(1).optional().describe('tab id of the GSM list in the spreadsheet'),
  exchange: z
    .string()
    .regex(/^[A-Za-z]{2,10}$/, 'is not an exchange code such as NSE')
    .transform((code) => code.toUpperCase())
    .default('NSE')
    .describe('exchange code, for example NSE'),
  out: z.string().min(1).default('./data').describe('output folder'),
  fetchOhlcv: booleanSchema.default(true).describe('whether the candle streams run'),
  forceUpdate: booleanSchema.default(true).describe('whether stored filings are fetched again'),
  newsLimit: integerSchema(1, 100).default(50).describe('news items per stock'),
  retries: integerSchema(0, 10).default(2).describe('retries after a failed request'),
  backoffMs: integerSchema(0, 60_000).default(500).describe('longest pause before the first retry; doubles each time'),
  throttleMs: integerSchema(0, 60_000).default(2_000).describe('shortest pause of an endpoint after a 429; 0 also disables the rate limit'),
  throttleMaxMs: integerSchema(0, 600_000).default(60_000).describe('longest pause accepted from a Retry-After'),
  throttleRetries: integerSchema(0, 100).default(8).describe('attempts after a 429; they do not count as retries'),
  throttleGiveUpMs: integerSchema(0, 3_600_000)
    .default(120_000)
    .describe('how long a host may refuse every request before its requests fail'),
  downMs: integerSchema(0, 86_400_000).default(300_000).describe('how long a run waits for a host that is down, in total'),
  workers: z.record(z.string(), integerSchema(1, 1_000)).default({}).describe('parallel requests of a stream, by its name'),
  timeoutsMs: z
    .record(z.string(), integerSchema(1, 600_000))
    .default({})
    .describe('longest time without a byte of a reply, by the name of the stream; a whole reply may take six times as long'),
  headers: z
    .record(
      z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'is not a header name'),
      z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'contains characters that a header cannot have'),
    )
    .default({})
    .describe('request headers that are added to the default ones or replace them'),
  streams: z
    .union([
      z
        .string()
        .min(1)
        .transform((path) => [path]),
      z.array(z.string().min(1)),
    ])
    .default([])
    .describe('modules with streams of your own, for the command; a path in the file is relative to the file'),
  verify: z
    .record(z.string(), integerSchema(0, 1_000_000))
    .default({})
    .describe('allowed number of findings of `verify`: `errors` (default 0), `warnings`, or the name of a check'),
})
export type Settings = Readonly<z.output<typeof Settings>>
/** What is wrong with a setting; for a wrong name in a record, what is wrong with the name. */
export const explainIssue = (issue: z.core.$ZodIssue): string =>
  (issue.code === 'invalid_key' ? issue.issues[0]?.message : undefined) ?? issue.message

/** Settings as the user gives them; absent ones get their defaults. */
export type SettingsInput = z.input<typeof Settings>

/** The base address of a service; undefined if it is not set. */
export const findAddress = ({ urls, hosts }: Pick<Settings, 'urls' | 'hosts'>, host: Host): string | undefined =>
  isBuiltInHost(host) ? urls[host] : hosts[host]

/** The names of all services: the built-in ones, and those of the settings. */
export const listHosts = ({ hosts }: Pick<Settings, 'hosts'>): readonly Host[] => [...builtInHosts, ...Object.keys(hosts)]

/** The built-in services, and those that endpoints name. */
export const listEndpointHosts = (endpoints: readonly { readonly host: Host }[]): readonly Host[] => [
  ...new Set<Host>([...builtInHosts, ...endpoints.map(({ host }) => host)]),
]

/** The setting with the base address of a service. */
export const toAddressSetting = (host: Host): string => `${isBuiltInHost(host) ? 'urls' : 'hosts'}.${host}`

/** The environment variable with the base address of a service. */
export const toAddressVariable = (host: Host): string => `SCRIPSTREAM_${host.toUpperCase()}_URL`

/** The environment variable of each setting but `urls` and `hosts`. */
export const environmentNames: Readonly<Record<string, string>> = {
  sheetId: 'SCRIPSTREAM_SHEET_ID',
  asmTabId: 'SCRIPSTREAM_ASM_TAB_ID',
  gsmTabId: 'SCRIPSTREAM_GSM_TAB_ID',
  exchange: 'SCRIPSTREAM_EXCHANGE',
  out: 'SCRIPSTREAM_OUT',
  fetchOhlcv: 'FETCH_OHLCV',
  forceUpdate: 'FORCE_UPDATE',
  newsLimit: 'NEWS_LIMIT',
  retries: 'SCRIPSTREAM_RETRIES',
  backoffMs: 'SCRIPSTREAM_BACKOFF_MS',
  throttleMs: 'SCRIPSTREAM_THROTTLE_MS',
  throttleMaxMs: 'SCRIPSTREAM_THROTTLE_MAX_MS',
  throttleRetries: 'SCRIPSTREAM_THROTTLE_RETRIES',
  throttleGiveUpMs: 'SCRIPSTREAM_THROTTLE_GIVE_UP_MS',
  downMs: 'SCRIPSTREAM_DOWN_MS',
  workers: 'SCRIPSTREAM_WORKERS',
  timeoutsMs: 'SCRIPSTREAM_TIMEOUTS_MS',
  headers: 'SCRIPSTREAM_HEADERS',
  streams: 'SCRIPSTREAM_STREAMS',
  verify: 'SCRIPSTREAM_VERIFY',
}
