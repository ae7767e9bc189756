import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { openFront } from '../bench/provider/front.js'
import { createLine, type LineSpeed } from '../bench/provider/line.js'
import { createOutages, type OutageKind, unavailable } from '../bench/provider/outage.js'
import { readRequests } from '../bench/provider/requests.js'
import { seeded } from '../crash/support.js'

/** What lies between the product and the provider. */
export interface Weather {
  /** The environment that leads through it. */
  readonly env: Record<string, string>
  /** From here on the provider is away from time to time, and the line as slow as given. */
  begin(options: WeatherOptions): void
  end(): Promise<void>
  /** The outages that have begun. */
  readonly outages: readonly OutageKind[]
}

export interface WeatherOptions {
  readonly seed: number
  readonly outages: number
  /** About so many requests lie between two outages. */
  readonly requestsBetween: number
  readonly line: LineSpeed | null
}

const KINDS: readonly OutageKind[] = ['503', 'killed', 'frozen']
const LEAST_MS = 1_000
const MOST_MS = 2_000

/** A line in front of the provider: outages begin by the count of requests, not by the clock, so that a seed gives the same mix. */
export const openWeather = async (origin: string, env: Record<string, string>): Promise<Weather> => {
  const port = Number(new URL(origin).port)
  const line = createLine()
  const begun: OutageKind[] = []
  let plan: (() => void) | undefined

  const pass = (near: Socket): void => {
    const far = connect({ port, host: '127.0.0.1', noDelay: true })
    // A frozen connection stays silent for good, like one whose state a router has lost.
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
    env: Object.fromEntries(Object.entries(env).map(([key, value]) => [key, value.replace(origin, `http://127.0.0.1:${front.port}`)])),
    outages: begun,
    begin: ({ seed, outages: most, requestsBetween, line: speed }) => {
      const random = seeded(seed)
      const gap = (): number => Math.ceil(requestsBetween * (0.5 + random()))
      let left = gap()
      line.setSpeed(speed)
      plan = () => {
        if (begun.length >= most || outages.activeKind() !== undefined || --left > 0) return
        left = gap()
        const kind = KINDS[begun.length % KINDS.length] ?? 'killed'
        begun.push(kind)
        void outages.plan({ kind, ms: LEAST_MS + random() * (MOST_MS - LEAST_MS) })
      }
    },
    end: async () => {
      plan = undefined
      line.setSpeed(null)
      await outages.plan(null)
    },
  }
}
