import type { Fault } from '../../src/simulator/index.js'
import { streams } from '../../streams/index.js'

/** How many stocks are listed; more of them by `npm run test:chaos -- 2775`. */
export const STOCKS = Number(process.env.STOCKS ?? 80)

/** Calls that are never answered with nothing: there an empty answer is a fault that can be seen. */
const NEVER_EMPTY = ['master', 'indices', 'sec_list', 'listing_dates', 'sheet']

const MODES: readonly Omit<Fault, 'on'>[] = [
  { mode: 'status', status: 429 },
  { mode: 'status', status: 500 },
  { mode: 'status', status: 503 },
  { mode: 'reset' },
  { mode: 'truncate' },
  { mode: 'html' },
  { mode: 'garbage' },
  { mode: 'null' },
  { mode: 'no-body' },
  { mode: 'hang' },
  // Longer than the timeouts below, so that it counts as no byte for that time.
  { mode: 'drip', ms: 5_000 },
  { mode: 'slow', ms: 200 },
]

/** Each item meets one of the faults, or none, with its first request: half of all of them do. */
const onHalf = 1 - 0.5 ** (1 / MODES.length)
export const faultsOfFirstAnswers: readonly Fault[] = [
  ...MODES.map((fault) => ({ on: '*', ...fault, rate: onHalf, times: 1 })),
  ...NEVER_EMPTY.map((on): Fault => ({ on, mode: 'empty', times: 1 })),
]

/** Settings of a run that meets them: it tries often and soon, and waits for a host that is away. */
export const HARDY = {
  SCRIPSTREAM_RETRIES: '10',
  SCRIPSTREAM_BACKOFF_MS: '20',
  SCRIPSTREAM_THROTTLE_MS: '0',
  SCRIPSTREAM_DOWN_MS: '120000',
  SCRIPSTREAM_TIMEOUTS_MS: streams.map(({ name }) => `${name}=1500`).join(),
}

/** With fewer attempts than an outage lasts: a run gets through one by waiting for the host, not by trying again and again. */
export const PATIENT = { ...HARDY, SCRIPSTREAM_RETRIES: '8' }
