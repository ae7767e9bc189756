import type { Host, Settings } from '../../model/settings.js'
import { createHostGate, type HostGate } from './host-gate.js'

/** The gates of one run: services with the same base address share one. */
export interface Gates {
  readonly of: (host: Host) => HostGate
  /** What there is to say of each host that held requests up. */
  readonly notices: () => readonly { readonly host: Host; readonly text: string }[]
}

export const createGates = (settings: Settings): Gates => {
  const gates = new Map<string, { readonly host: Host; readonly gate: HostGate }>()
  return {
    of: (host) => {
      const address = settings.urls[host]?.replace(/\/+$/, '') ?? host
      const known = gates.get(address)
      if (known) return known.gate
      const gate = createHostGate(host, settings)
      gates.set(address, { host, gate })
      return gate
    },
    notices: () => [...gates.values()].flatMap(({ host, gate }) => gate.notices().map((text) => ({ host, text }))),
  }
}
