import { z } from 'zod'

/** The services of the interface document, each with its own base address. */
export const hosts = ['analytics', 'fundamental', 'static', 'news', 'ticks', 'archive', 'sheet', 'web'] as const
/** The name of a service, as in `urls.news`. */
export type Host = (typeof hosts)[number]

const BaseUrl = z
  .url({ protocol: /^https?$/, error: 'is not an http(s) address' })
  .regex(/^[^?#@]*$/, 'must have neither a query nor credentials; use headers for credentials')
const integerSchema = (least: number, most: number) => {
  const error = `must be a whole number from ${least} to ${most}`
  return z.int({ error }).min(least, { error }).max(most, { error })
}
const booleanSchema = z.boolean({ error: 'must be true or false' })

/** All settings. `--help` and the README show the descriptions. */
export const Settings = z.strictObject({
  urls: z.partialRecord(z.enum(hosts), BaseUrl).default({}).describe('base address of each service; may include a path'),
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
  throttleMs: integerSchema(0, 60_000)
    .default(2_000)
    .describe('pause of a host after a 429 without Retry-After; 0 also disables the rate limit'),
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
  verify: z
    .record(z.string(), integerSchema(0, 1_000_000))
    .default({})
    .describe('allowed number of findings of `verify`: `errors` (default 0), `warnings`, or the name of a check'),
})
export type Settings = Readonly<z.output<typeof Settings>>
/** Settings as the user gives them; absent ones get their defaults. */
export type SettingsInput = z.input<typeof Settings>

/** The environment variable of each setting; an address is `urls.<host>`. */
export const environmentNames: Readonly<Record<string, string>> = {
  ...Object.fromEntries(hosts.map((host) => [`urls.${host}`, `SCRIPSTREAM_${host.toUpperCase()}_URL`])),
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
  verify: 'SCRIPSTREAM_VERIFY',
}
