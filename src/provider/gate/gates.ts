import { type Host, hosts, type Settings } from '../../model/settings.js'
import { createHostGate, type HostGate, type Pause } from './host-gate.js'

/** The gates of one run: services with the same base address share one. */
export interface Gates {
  readonly of: (host: Host) => HostGate
  /** What there is to say of each host that held requests up. */
  readonly notices: () => readonly { readonly host: Host; readonly text: string }[]
}

/** What tells hosts apart: their base address, or the name of one without. */
export const addressOf = ({ urls }: Pick<Settings, 'urls'>, host: Host): string => urls[host]?.replace(/\/+$/, '') ?? host

/** Hears which services are given a pause, and, without one, that they are asked again. */
export type TellPause = (hosts: readonly Host[], pause: Pause | undefined) => void

export const createGates = (settings: Settings, tell: TellPause = () => undefined): Gates => {
  const gates = new Map<string, { readonly host: Host; readonly gate: HostGate }>()
  return {
    of: (host) => {
      const address = addressOf(settings, host)
      const known = gates.get(address)
      if (known) return known.gate
      const there = hosts.filter((other) => addressOf(settings, other) === address)
      const gate = createHostGate(host, settings, (pause) => tell(there, pause))
      gates.set(address, { host, gate })
      return gate
    },
    notices: () => [...gates.values()].flatMap(({ host, gate }) => gate.notices().map((text) => ({ host, text }))),
  }
}
