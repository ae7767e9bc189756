import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { openFront } from '../bench/provider/front.js'
import { createLine, type LineSpeed } from '../bench/provider/line.js'
import { createOutages, type OutageKind, unavailable } from '../bench/provider/outage.js'
import { readRequests } from '../bench/provider/requests.js'
import { seeded } from '../crash/support.js'

/** A faulty network between the collector and the provider. */
export interface FaultyNetwork {
  /** The environment that routes requests through it. */
  readonly env: Record<string, string>
  /** Starts outages of the provider and limits the speed of the line. */
  begin(options: FaultyNetworkOptions): void
  /** The outages so far. */
  readonly outages: readonly OutageKind[]
}

export interface FaultyNetworkOptions {
  readonly seed: number
  readonly outages: number
  /** The approximate number of requests between two outages. */
  readonly requestsBetween: number
  readonly line: LineSpeed
}

const KINDS: readonly OutageKind[] = ['503', 'killed', 'frozen']
const MIN_OUTAGE_MS = 1_000
const MAX_OUTAGE_MS = 2_000

/**
 * Opens a proxy in front of the provider. Outages start by request count, not by clock, so that a seed
 * reproduces the same mix.
 */
export const openFaultyNetwork = async (
  origin: string,
  env: Record<string, string>,
): Promise<FaultyNetwork> => {
  const port = Number(new URL(origin).port)
  const line = createLine()
  const started: OutageKind[] = []
  let plan: (() => void) | undefined

  const pass = (near: Socket): void => {
    const far = connect({ port, host: '127.0.0.1', noDelay: true })
    // A frozen connection stays silent for ever, as if a router had lost its state.
    let isDead = false
    const isFrozen = (): boolean => {
      isDead ||= outages.activeKind() === 'frozen'
      return isDead
    }
    readRequests(near, (_, __, bytes) => {
      plan?.()
      if (isFrozen()) return
      if (outages.activeKind() === '503') line.send(near, unavailable)
      else far.write(bytes)
    })
    far.on('data', (chunk: Buffer) => isFrozen() || line.send(near, chunk))
    far.on('error', () => near.resetAndDestroy())
    far.on('close', () => isDead || near.destroy())
    near.on('close', () => far.destroy())
  }
  const front = await openFront(pass)
  const outages = createOutages(front, undefined)
  onTestFinished(async () => {
    await outages.plan(null)
    line.setSpeed(null)
    front.close()
  })
  return {
    env: Object.fromEntries(
      Object.entries(env).map(([key, value]) => [
        key,
        value.replace(origin, `http://127.0.0.1:${front.port}`),
      ]),
    ),
    outages: started,
    begin: ({ seed, outages: most, requestsBetween, line: speed }) => {
      const random = seeded(seed)
      const gap = (): number => Math.ceil(requestsBetween * (0.5 + random()))
      let left = gap()
      line.setSpeed(speed)
      plan = () => {
        if (started.length >= most || outages.activeKind() !== undefined || --left > 0) return
        left = gap()
        const kind = KINDS[started.length % KINDS.length] ?? 'killed'
        started.push(kind)
        void outages.plan({ kind, ms: MIN_OUTAGE_MS + random() * (MAX_OUTAGE_MS - MIN_OUTAGE_MS) })
      }
    },
  }
}
