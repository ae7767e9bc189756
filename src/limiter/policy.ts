import { parseDuration, type Settings } from '../model/settings.js'
import { RETRY_DEFAULTS, type RetryPolicy } from '../operators/retry-failures.js'
import type { LimiterSettings } from './state.js'

/** How the requests of a run are repeated, and how long their hosts are waited for. */
export interface LimitPolicy extends LimiterSettings, Pick<RetryPolicy, 'throttleRetries'> {}

/** The policy of a run: two settings, and the defaults of the operators, which say why. */
export const createLimitPolicy = ({
  retries,
  patience,
}: Pick<Settings, 'retries' | 'patience'>): LimitPolicy => {
  const { backoffMs, throttleRetries, throttleMs, throttleMaxMs } = RETRY_DEFAULTS
  const [throttleGiveUpMs, downMs] = [parseDuration(patience), parseDuration(patience)]
  return { retries, backoffMs, throttleRetries, throttleMs, throttleMaxMs, throttleGiveUpMs, downMs }
}
