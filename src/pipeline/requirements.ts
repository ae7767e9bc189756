import { UsageError } from '../model/errors.js'
import {
  builtInHosts,
  environmentNames,
  findAddress,
  type Host,
  isBuiltInHost,
  type Settings,
  toAddressSetting,
  toAddressVariable,
} from '../model/settings.js'
import { findClosest } from '../model/text.js'
import type { PlannedStream } from './plan.js'

/** Throws a `UsageError` that names every unset setting that the planned streams need. */
export const checkRequirements = (plan: readonly PlannedStream[], settings: Settings): void => {
  /** The streams that need an unset setting, by the line that names it. */
  const missing = new Map<string, string[]>()
  for (const { stream, state } of plan) {
    if (state !== 'waiting') continue
    const hosts = stream.endpoints.map(({ host }) => host).filter((host) => findAddress(settings, host) === undefined)
    const others = (stream.requires ?? []).filter((setting) => settings[setting] === undefined)
    const lines = [...hosts.map(describeHost), ...others.map((setting) => `${environmentNames[setting]} (${setting})`)]
    for (const line of new Set(lines)) missing.set(line, [...(missing.get(line) ?? []), stream.name])
  }
  if (missing.size === 0) return
  const lines = [...missing].map(([line, users]) => `  ${line}, needed by ${users.join(', ')}`)
  throw new UsageError(`not set:\n${lines.join('\n')}\nSet the variables, or the names in brackets in scripstream.config.json.`, {
    code: 'missing-setting',
  })
}

const describeHost = (host: Host): string => {
  const meant = isBuiltInHost(host) ? undefined : findClosest(host, builtInHosts)
  return `${toAddressVariable(host)} (${toAddressSetting(host)}${meant === undefined ? '' : `, or did you mean the built-in host ${meant}?`})`
}
