import { UsageError } from '../model/errors.js'
import { environmentNames, type Settings } from '../model/settings.js'
import type { PlannedStream } from './plan.js'

/** Throws a `UsageError` that names every unset setting that the planned streams need. */
export const checkRequirements = (plan: readonly PlannedStream[], settings: Settings): void => {
  const missing = new Map<string, string[]>()
  for (const { stream, state } of plan) {
    if (state !== 'waiting') continue
    const addresses = stream.endpoints.filter(({ host }) => settings.urls[host] === undefined).map(({ host }) => `urls.${host}`)
    const others = (stream.requires ?? []).filter((setting) => settings[setting] === undefined)
    for (const setting of new Set([...addresses, ...others])) missing.set(setting, [...(missing.get(setting) ?? []), stream.name])
  }
  if (missing.size === 0) return
  const lines = [...missing].map(([setting, users]) => `  ${environmentNames[setting]} (${setting}), needed by ${users.join(', ')}`)
  throw new UsageError(
    `not set:\n${lines.join('\n')}\nSet the variables, or the names in brackets in scripstream.config.json. ` +
      'To try it without a provider: scripstream run --simulate',
  )
}
