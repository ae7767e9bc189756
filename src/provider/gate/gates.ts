import { type Host, hosts, type Settings } from '../../model/settings.js'
import type { AnyEndpoint } from '../endpoint.js'
import { createHostGates, type HostGate, type HostGates, type Pause } from './host-gate.js'
import { type Line, newLine } from './line.js'

/** The gates of one run: services with the same base address share one. */
export interface Gates {
  readonly of: (endpoint: Pick<AnyEndpoint, 'host' | 'name'>) => HostGate
  /** What is known of the way to all hosts; who receives bytes notes it there. */
  readonly line: Line
  /** What there is to say of each host that held requests up. */
  readonly notices: () => readonly { readonly host: Host; readonly text: string }[]
}

/** What tells hosts apart: their base address, or the name of one without. */
export const addressOf = ({ urls }: Pick<Settings, 'urls'>, host: Host): string => urls[host]?.replace(/\/+$/, '') ?? host

/** Hears which services, or which endpoint of them alone, are given a pause, and, without one, that they are asked again. */
export type TellPause = (hosts: readonly Host[], pause: Pause | undefined, endpoint: string | undefined) => void

export const createGates = (settings: Settings, tell: TellPause = () => undefined): Gates => {
  const all = new Map<string, { readonly host: Host; readonly gates: HostGates }>()
  const line = newLine()
  const gatesOf = (host: Host): HostGates => {
    const address = addressOf(settings, host)
    const known = all.get(address)
    if (known) return known.gates
    const there = hosts.filter((other) => addressOf(settings, other) === address)
    const gates = createHostGates(host, settings, { line, tell: (pause, endpoint) => tell(there, pause, endpoint) })
    all.set(address, { host, gates })
    return gates
  }
  return {
    of: ({ host, name }) => gatesOf(host).of(name),
    line,
    notices: () => [...all.values()].flatMap(({ host, gates }) => gates.notices().map((text) => ({ host, text }))),
  }
}
