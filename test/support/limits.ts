import { type Collector, type CollectorOptions, createCollectorWith } from '../../src/collector.js'
import type { LimitPolicy } from '../../src/limiter/limiter-registry.js'
import { omitUndefined } from '../../src/model/row.js'
import type { SettingsInput } from '../../src/model/settings.js'

/** Settings, and what of the policy of the limiters is no setting. */
export type TestSettings = SettingsInput & Partial<Omit<LimitPolicy, 'retries'>>

/** Takes them apart. */
export const splitLimits = ({
  backoffMs,
  throttleMs,
  throttleMaxMs,
  throttleRetries,
  throttleGiveUpMs,
  downMs,
  ...settings
}: TestSettings) => ({
  settings,
  limits: omitUndefined({ backoffMs, throttleMs, throttleMaxMs, throttleRetries, throttleGiveUpMs, downMs }),
})

/** A collector that repeats requests without pauses, and waits for no host, unless its settings say more. */
export const createQuickCollector = ({
  settings: given,
  ...options
}: Omit<CollectorOptions, 'settings'> & { readonly settings: TestSettings }): Collector => {
  const { settings, limits } = splitLimits({ backoffMs: 0, throttleMs: 0, downMs: 0, ...given })
  return createCollectorWith(limits, { ...options, settings })
}
