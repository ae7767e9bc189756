import { asyncScheduler } from 'rxjs'
import { folder } from '../../sinks/folder.js'
import type { Settings } from '../model/settings.js'
import { askedOnce } from '../pipeline/asked-once.js'
import { connectionsFor } from '../pipeline/connections.js'
import type { StreamDefinition } from '../pipeline/define-stream.js'
import type { Site } from '../pipeline/item-work.js'
import { createDriftWatch } from '../provider/drift.js'
import { createGates } from '../provider/gate/gates.js'
import { openConnections } from '../provider/http.js'
import { redirectsOf } from '../provider/redirects.js'
import type { Blobs } from './blobs.js'
import { earlierIn } from './earlier.js'
import { readRun } from './run-file.js'

/** A run as a worker has it. */
export interface WorkerSite extends Site {
  readonly run: string
  readonly close: () => void
}

export interface SitesOptions {
  readonly blobs: Blobs
  readonly streams: readonly StreamDefinition[]
  readonly headers: Settings['headers']
}

/** The sites of the runs that a worker works for: one at a time, the latest. */
export const sitesOf = (options: SitesOptions) => {
  let current: { readonly run: string; readonly site: Promise<WorkerSite> } | undefined
  const close = async (): Promise<void> => {
    const before = current
    current = undefined
    await before?.site.then(
      (site) => site.close(),
      () => undefined,
    )
  }
  return {
    of: (run: string): Promise<WorkerSite> => {
      if (current?.run !== run) {
        void close()
        current = { run, site: siteOf(run, options) }
      }
      return current.site
    },
    close,
  }
}

const siteOf = async (run: string, { blobs, streams, headers }: SitesOptions): Promise<WorkerSite> => {
  const { asOf, acceptShrink, settings } = await readRun(run, blobs, headers)
  const plan = streams.map((stream) => ({ stream, state: 'waiting' as const }))
  const connections = openConnections({ redirect: redirectsOf(settings), most: connectionsFor(plan, settings) })
  return {
    ...{ run, asOf, acceptShrink, settings },
    storage: { stored: folder(earlierIn(blobs.folderOf(run))).stored },
    transport: connections.send,
    gates: createGates(settings),
    drift: createDriftWatch(),
    shared: askedOnce(),
    // Items of a stream that waits for others are not handed out before those have ended.
    ended: new Map(),
    emit: () => undefined,
    watch: undefined,
    clock: () => asyncScheduler.now(),
    random: Math.random,
    close: connections.close,
  }
}
