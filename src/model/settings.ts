import { z } from 'zod'

/** The services of the interface document, each with its own base address. */
export const hosts = ['analytics', 'fundamental', 'static', 'news', 'ticks', 'archive', 'sheet', 'web'] as const
/** The name of a service, as in `urls.news`. */
export type Host = (typeof hosts)[number]

const BaseUrl = z
  .url({ protocol: /^https?$/, error: 'is not an http(s) address' })
  .regex(/^[^?#@]*$/, 'must have neither a query nor credentials: what identifies you goes into headers')
const count = (least: number, most: number) => {
  const error = `must be a whole number from ${least} to ${most}`
  return z.int({ error }).min(least, { error }).max(most, { error })
}
const flag = z.boolean({ error: 'must be true or false' })

/** Everything that can be set. The descriptions are shown by `--help` and in the README. */
export const Settings = z.strictObject({
  urls: z.partialRecord(z.enum(hosts), BaseUrl).default({}).describe('base address of each service; a path in it is kept'),
  sheetId: z.string().min(1).optional().describe('id of the surveillance spreadsheet'),
  asmTabId: z.string().min(1).optional().describe('tab of the ASM list in it'),
  gsmTabId: z.string().min(1).optional().describe('tab of the GSM list in it'),
  exchange: z
    .string()
    .regex(/^[A-Za-z]{2,10}$/, 'is not an exchange code such as NSE')
    .transform((code) => code.toUpperCase())
    .default('NSE')
    .describe('exchange code, for example NSE'),
  out: z.string().min(1).default('./data').describe('folder that the outputs are written to'),
  fetchOhlcv: flag.default(true).describe('whether the candle streams run'),
  forceUpdate: flag.default(true).describe('whether filings that are already there are fetched again'),
  newsLimit: count(1, 100).default(50).describe('news items per stock'),
  retries: count(0, 10).default(2).describe('further attempts after a failed request'),
  backoffMs: count(0, 60_000).default(500).describe('longest pause before the first further attempt; doubles each time'),
  throttleMs: count(0, 60_000)
    .default(2_000)
    .describe('pause of a host after a 429 that names none; with 0 its pace is not limited either'),
  throttleMaxMs: count(0, 600_000).default(60_000).describe('longest pause that a Retry-After is granted'),
  throttleRetries: count(0, 100).default(8).describe('further attempts after a 429, which do not count as retries'),
  throttleGiveUpMs: count(0, 3_600_000).default(120_000).describe('time after which a host that refuses everything is given up'),
  downMs: count(0, 86_400_000).default(300_000).describe('patience: how long a host that is away is waited for, in all of a run'),
  workers: z.record(z.string(), count(1, 1_000)).default({}).describe('workers of a stream, by its name'),
  timeoutsMs: z
    .record(z.string(), count(1, 600_000))
    .default({})
    .describe('longest time without a byte of an answer, by the name of the stream; six times as long in all'),
  headers: z
    .record(
      z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'is no header name'),
      z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'holds what a header cannot'),
    )
    .default({})
    .describe('request headers sent besides or instead of the usual ones'),
  verify: z
    .record(z.string(), count(0, 1_000_000))
    .default({})
    .describe('findings of `verify` that are allowed: `errors` (0 if nothing is said), `warnings`, or a check by its name'),
})
export type Settings = Readonly<z.output<typeof Settings>>
/** Settings as they are given: what is absent has its default. */
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
