import type { Observable } from 'rxjs'
import type { RunEvent } from '../model/event.js'
import { groupBy } from '../model/map.js'
import { isLost } from '../model/outcome.js'
import type { MemoryDisk } from './memory-disk.js'
import type { VirtualTime } from './virtual-time.js'

/** An item that finished so long before a kill is in the journal. */
const STORED_AFTER_MS = 1_000

/** Collects what a run says until it ends; what a killed process still says is heard by nobody. */
export const follow = (event$: Observable<RunEvent>, isKilled: () => boolean, { elapsed }: VirtualTime) => {
  const events: RunEvent[] = []
  const stored: (readonly [stream: string, at: number])[] = []
  let [end, error]: ['finished' | 'failed' | undefined, unknown] = [undefined, undefined]
  const subscription = event$.subscribe({
    next: (event) => {
      if (isKilled()) return
      events.push(event)
      if (event.type === 'item-finished' && !isLost(event) && event.degraded === undefined) stored.push([event.stream, elapsed()])
    },
    error: (failure: unknown) => {
      ;[end, error] = ['failed', failure]
    },
    complete: () => {
      end = 'finished'
    },
  })
  const last = () => events.findLast((event) => event.type === 'run-finished')
  const countStored = () =>
    groupBy(
      stored.filter(([, at]) => at <= elapsed() - STORED_AFTER_MS),
      ([stream]) => stream,
    )
  return { events, subscription, countStored, end: () => end, error: () => error, report: () => last()?.report }
}

/** Counts the whole lines of items that need not be fetched again; at least as many as were stored. */
export const countJournaled = ({ files }: MemoryDisk, stored: ReadonlyMap<string, readonly unknown[]>): ReadonlyMap<string, number> => {
  // A run that has just ended has no record any more: its journals are ignored.
  const state = files('/data/.scripstream')
  if (!state.has('run.json')) return new Map()
  return new Map(
    [...state].flatMap(([path, bytes]) => {
      const stream = /^journals\/(.+)\.ndjson$/.exec(path)?.[1]
      if (stream === undefined) return []
      const items = new Map<string, boolean>()
      for (const line of bytes.toString().split('\n').slice(0, -1)) {
        const { item, degraded } = JSON.parse(line || '{}') as { readonly item?: string; readonly degraded?: string }
        if (item !== undefined) items.set(item, degraded === undefined)
      }
      return [[stream, Math.max(stored.get(stream)?.length ?? 0, [...items.values()].filter(Boolean).length)] as const]
    }),
  )
}
