import { asyncScheduler } from 'rxjs'
import { folder } from '../../sinks/folder.js'
import { type Redact, redactorOf } from '../model/redact.js'
import type { Settings } from '../model/settings.js'
import { askedAgain, askedOnce } from '../pipeline/asked-once.js'
import { connectionsFor } from '../pipeline/connections.js'
import type { StreamDefinition } from '../pipeline/define-stream.js'
import { driftWatchFor } from '../pipeline/drift.js'
import type { Site } from '../pipeline/item-work.js'
import { createGates } from '../provider/gate/gates.js'
import { openConnections } from '../provider/http.js'
import { redirectsOf } from '../provider/redirects.js'
import type { Blobs } from './blobs.js'
import { earlierIn } from './earlier.js'
import { editionOf, NO_EDITION, readRun } from './run-file.js'

/** A run on a worker: everything that its items need. */
export interface WorkerSite extends Site {
  readonly run: string
  /** Removes the credentials of this machine from texts. The driver does not know them. */
  readonly redact: Redact
  /** Shared requests of items in second passes. */
  readonly sharedAgain: Site['shared']
  readonly close: () => void
}

export interface SitesOptions {
  readonly blobs: Blobs
  readonly streams: readonly StreamDefinition[]
  readonly headers: Settings['headers']
}

interface Current {
  readonly run: string
  readonly edition: number
  readonly site: Promise<WorkerSite>
}

const LOOK_MS = 1_000

/** Opens the runs of a worker. The current one is the latest, in the latest edition of its file. */
export const sitesOf = (options: SitesOptions) => {
  let current: Current | undefined
  /** Its items may still be active. */
  let previous: Current | undefined
  let checkedAt = Number.NEGATIVE_INFINITY
  let checking: Promise<unknown> = Promise.resolve()
  const close = async (one: Current | undefined): Promise<void> => {
    await one?.site.then(
      (run) => run.close(),
      () => undefined,
    )
  }
  const checkEdition = async (run: string): Promise<void> => {
    const edition = await editionOf(run, options.blobs)
    if (edition === NO_EDITION || (current?.run === run && current.edition === edition)) return
    void close(previous)
    previous = current
    current = { run, edition, site: siteOf(run, options) }
  }
  return {
    of: async (run: string): Promise<WorkerSite> => {
      const now = performance.now()
      if (current?.run !== run || now - checkedAt > LOOK_MS) {
        checkedAt = now
        checking = checking.then(() => checkEdition(run))
      }
      await checking
      return current?.run === run ? current.site : siteOf(run, options)
    },
    close: async (): Promise<void> => {
      await Promise.all([close(previous), close(current)])
    },
  }
}

const siteOf = async (run: string, { blobs, streams, headers }: SitesOptions): Promise<WorkerSite> => {
  const { asOf, accept, settings } = await readRun(run, blobs, headers)
  const plan = streams.map((stream) => ({ stream, state: 'waiting' as const }))
  const connections = openConnections({ redirect: redirectsOf(settings), most: connectionsFor(plan, settings) })
  const shared = askedOnce()
  return {
    ...{ run, asOf, accept, settings },
    redact: redactorOf(settings),
    storage: { stored: folder(earlierIn(blobs.folderOf(run))).stored },
    transport: connections.send,
    gates: createGates(settings),
    drift: driftWatchFor(accept),
    shared,
    sharedAgain: askedAgain(shared),
    // The driver hands out the items of a stream only after the streams that it depends on.
    ended: new Map(),
    emit: () => undefined,
    watch: undefined,
    clock: () => asyncScheduler.now(),
    random: Math.random,
    close: connections.close,
  }
}
