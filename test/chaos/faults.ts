import type { Fault } from '../../src/simulator/index.js'
import { streams } from '../../streams/registry.js'

/** The number of listed stocks; set it with `npm run test:chaos -- 2775`. */
export const STOCKS = Number(process.env.STOCKS ?? 80)

/** Endpoints that never answer with an empty list: there an empty answer is a detectable fault. */
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
  // Longer than the timeouts below: counts as an idle connection.
  { mode: 'drip', ms: 5_000 },
  { mode: 'slow', ms: 200 },
]

/** The chance of each fault per first request, so that half of all items get one. */
const onHalf = 1 - 0.5 ** (1 / MODES.length)
export const faultsOfFirstAnswers: readonly Fault[] = [
  ...MODES.map((fault) => ({ on: '*', ...fault, rate: onHalf, times: 1 })),
  ...NEVER_EMPTY.map((on): Fault => ({ on, mode: 'empty', times: 1 })),
]

/** Settings for runs with these faults: many quick retries, and waiting for a host that is down. */
export const HARDY = {
  SCRIPSTREAM_RETRIES: '10',
  SCRIPSTREAM_BACKOFF_MS: '20',
  SCRIPSTREAM_THROTTLE_MS: '0',
  SCRIPSTREAM_DOWN_MS: '120000',
  SCRIPSTREAM_TIMEOUTS_MS: streams.map(({ name }) => `${name}=1500`).join(),
}

/** Fewer retries than an outage lasts: a run survives it by waiting for the host, not by retrying. */
export const PATIENT = { ...HARDY, SCRIPSTREAM_RETRIES: '8' }
