import { map, mergeMap, Observable, single } from 'rxjs'
import type { RunEvent } from '../model/event.js'
import { withoutSecrets } from '../model/redact.js'
import type { Drift } from '../model/report.js'
import { createSlot } from '../operators/slot.js'
import type { StreamDefinition } from '../pipeline/define-stream.js'
import { itemWork } from '../pipeline/item-work.js'
import type { Blobs } from './blobs.js'
import { type FleetGatesOptions, fleetGates } from './fleet-gates.js'
import { type Asked, NOTHING_ASKED, type Outcome, putAway, type Work } from './outcome.js'
import type { WorkerSite } from './site.js'

/** What a worker has for the items of one stream. */
export interface JobTools extends Pick<FleetGatesOptions, 'holds' | 'pulse' | 'pause'> {
  /** The name of the worker. */
  readonly by: string
  readonly blobs: Blobs
  /** Of items that were given back as well: the next outcome tells of their requests. */
  readonly told: Told
  /** What an item is given back with. */
  readonly givenBack: () => Error
}

/** What a worker has yet to tell of a stream. */
export interface Told {
  asked: Asked
  drift: string
}

export const nothingTold = (): Told => ({ asked: NOTHING_ASKED, drift: '[]' })

/** The work of one item on a worker. Emits what became of it, without secrets, once its rows are put away. */
export const itemJob = (
  stream: StreamDefinition,
  work: Work,
  site: WorkerSite,
  { by, blobs, told, givenBack, ...gate }: JobTools,
): Observable<Outcome> =>
  new Observable((subscriber) => {
    const notices: string[] = []
    const emit = (event: RunEvent): void => {
      if (event.type === 'noticed') notices.push(site.redact(event.text))
      const [requests, retries, rateLimited] = told.asked
      if (event.type === 'requested') told.asked = [requests + 1, retries, rateLimited]
      if (event.type === 'retried') told.asked = [requests, retries + 1, rateLimited]
      if (event.type === 'rate-limited') told.asked = [requests, retries, rateLimited + 1]
    }
    const gates = fleetGates({ ...gate, site, giveBack: () => subscriber.error(givenBack()) })
    const outcomeOf = (rest: Omit<Outcome, 'by' | 'asked'>): Outcome => {
      const { asked } = told
      told.asked = NOTHING_ASKED
      const drift = driftOf(stream, site, told)
      return {
        by,
        ...withoutSecrets(rest, site.redact),
        ...(asked === NOTHING_ASKED ? {} : { asked }),
        ...(notices.length > 0 ? { notices } : {}),
        ...(drift ? { drift } : {}),
      }
    }
    subscriber.add(
      itemWork(stream, { ...site, gates, emit, shared: work.isSecondPass ? site.sharedAgain : site.shared })(work.item, ownSlot())
        .pipe(
          single(),
          mergeMap((settled) => putAway(stream.name, work, settled, blobs)),
          map(outcomeOf),
        )
        .subscribe(subscriber),
    )
  })

/** An item that was handed out has a worker for as long as it takes. */
const ownSlot = () =>
  createSlot({
    wait: (begin) => {
      begin()
      return () => undefined
    },
    free: () => undefined,
  })

/** All drift seen in a stream so far, if there is more of it than was told. */
const driftOf = ({ name }: StreamDefinition, { drift, redact }: WorkerSite, told: Told): readonly Drift[] | undefined => {
  const found = drift.found().filter(({ stream }) => stream === name)
  const text = JSON.stringify(found)
  if (text === told.drift) return undefined
  told.drift = text
  return found.map((one) => ({ ...one, field: redact(one.field), example: redact(one.example) }))
}
