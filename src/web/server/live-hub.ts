import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { elementAt, firstValueFrom, interval, type Observable, race, type Subscription } from 'rxjs'
import { z } from 'zod'
import { createWall, type Wall } from '../../model/wall.js'
import { createLiveFileReader } from '../../storage/run-state.js'
import type { LiveChange, LiveRunState, LiveSummary } from '../api/live.js'
import type { FolderState, LiveSnapshot } from '../api/state.js'

/** The present state of the active run; undefined without one. Called twice a second while somebody reads. */
export type LiveSource = () => LiveRunState | undefined

/** Sends the state of the run to readers, as server-sent events. */
export type LiveHub = ReturnType<typeof createLiveHub>

export interface HubOptions {
  /** When to look for changes; twice a second if absent. */
  readonly tick$?: Observable<unknown>
  /** When the report of the last run was written. */
  readonly readReportTime?: () => number | undefined
  /** Whether the data of the folder is simulated. */
  readonly readIsSimulated?: () => boolean
  /** Notes what a look at the run throws. */
  readonly wall?: Wall | undefined
}

// A look takes 1 to 2 ms: at five a second, these were almost 1 % of the CPU time of a whole run. Rates are
// measured as often.
const TICK_MS = 500
/** How many looks a reader has time to take the last event: a second. */
const MAX_END_TICKS = 2
/** How many of the last changes a reader that lost its connection can still get. */
const MAX_KEPT_CHANGES = 200

/** The state that readers have, with the text of each stream, by which changes are found. */
interface SentState {
  readonly state: LiveRunState | undefined
  readonly streams: ReadonlyMap<string, string>
  readonly summary: string
  readonly report?: number | undefined
  readonly isSimulated?: boolean
}

const NOTHING_SENT: SentState = { state: undefined, streams: new Map(), summary: '' }

export const createLiveHub = (read: LiveSource, options: HubOptions = {}) => {
  const { tick$ = interval(TICK_MS), wall = createWall() } = options
  // Ids of an earlier server mean nothing here.
  const session = randomUUID().slice(0, 8)
  const readers = new Set<LiveReader>()
  let changes: readonly { readonly id: number; readonly text: string }[] = []
  let id = 0
  let sent = NOTHING_SENT
  let ticking: Subscription | undefined
  const readFolder = () => ({
    report: options.readReportTime?.(),
    isSimulated: options.readIsSimulated?.() ?? false,
  })
  const snapshot = (): string => toSentEvent('snapshot', `${session}-${id}`, toSnapshot(sent))
  const look = (): void => {
    const previous = sent
    sent = { ...describeState(read()), ...readFolder() }
    const change = findChange(sent, previous)
    if (change === undefined) return
    id += 1
    const isOther = change === 'another run'
    const text = isOther ? snapshot() : toSentEvent('change', `${session}-${id}`, change)
    changes = isOther ? [] : [...changes.slice(1 - MAX_KEPT_CHANGES), { id, text }]
    for (const reader of readers) reader.send(text)
  }
  const tick = (): void => wall.attempt('the page of the run', look)
  const catchUp = (reader: LiveReader, lastEventId = ''): void => {
    const [owner, place] = lastEventId.split('-')
    const last = owner === session ? Number(place) : Number.NaN
    for (const text of (last === id ? [] : findLater(changes, last)) ?? [snapshot()]) reader.send(text)
  }
  return {
    isActive: () => isUnderWay(read()),
    /** Its events continue after the one that the reader had last, or begin with a snapshot. */
    open(response: ServerResponse, lastEventId: string | undefined): void {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
      response.write('retry: 1000\n\n')
      tick()
      const reader = createLiveReader(response, snapshot)
      readers.add(reader)
      ticking ??= tick$.subscribe(tick)
      catchUp(reader, lastEventId)
      response.on('close', () => {
        readers.delete(reader)
        if (readers.size > 0) return
        ticking?.unsubscribe()
        ticking = undefined
      })
    },
    /** Sends readers how the folder stands. Resolves once they have it, or are too slow. */
    async close(readState: () => Promise<FolderState>): Promise<void> {
      ticking?.unsubscribe()
      if (readers.size === 0) return
      // Without it, the page asks for the state itself, and shows why there is none.
      const last = toSnapshot({ ...NOTHING_SENT, ...readFolder() })
      const state = await readState().catch(() => undefined)
      await endAll(readers, toSentEvent('snapshot', `${session}-${id}`, { ...last, state }), tick$)
    },
  }
}

/** The changes after one; undefined if some of them are no longer there. */
const findLater = (
  changes: readonly { readonly id: number; readonly text: string }[],
  last: number,
): readonly string[] | undefined =>
  changes.some((change) => change.id === last + 1)
    ? changes.filter((change) => change.id > last).map(({ text }) => text)
    : undefined

const toSnapshot = ({ state, report, isSimulated = false }: SentState): LiveSnapshot => ({
  run: state ?? null,
  report: report ?? null,
  isSimulated,
})

const isUnderWay = (state: LiveRunState | undefined): boolean =>
  state !== undefined && state.outcome === undefined

/** Ends all connections with a last text. */
const endAll = (
  readers: ReadonlySet<LiveReader>,
  text: string,
  tick$: Observable<unknown>,
): Promise<unknown> =>
  firstValueFrom(
    race(
      Promise.all([...readers].map((reader) => reader.end(text))),
      tick$.pipe(elementAt(MAX_END_TICKS - 1)),
    ),
  )

const toSentEvent = (type: 'snapshot' | 'change', id: string, data: LiveSnapshot | LiveChange): string =>
  `event: ${type}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`

const describeState = (state: LiveRunState | undefined): SentState => {
  if (state === undefined) return NOTHING_SENT
  const streams = new Map(state.streams.map((stream) => [stream.name, JSON.stringify(stream)]))
  // The time alone is no change: readers have clocks.
  return { state, streams, summary: JSON.stringify({ ...toSummary(state), at: 0 }) }
}

const toSummary = ({ phases: _, streams: __, ...summary }: LiveRunState): LiveSummary => summary

const findChange = (next: SentState, previous: SentState): LiveChange | 'another run' | undefined => {
  const { state } = next
  if (
    state?.run !== previous.state?.run ||
    next.report !== previous.report ||
    next.isSimulated !== previous.isSimulated
  )
    return 'another run'
  if (state === undefined) return undefined
  const streams = state.streams.filter(({ name }) => next.streams.get(name) !== previous.streams.get(name))
  return streams.length === 0 && next.summary === previous.summary
    ? undefined
    : { summary: toSummary(state), streams }
}

/** One connection that reads the events of the run. */
type LiveReader = ReturnType<typeof createLiveReader>

/**
 * A connection that does not take what was sent gets nothing more until it has, and then the present state
 * instead of all that it has missed: a slow reader costs no memory.
 */
const createLiveReader = (connection: Pick<Writable, 'write' | 'once' | 'end'>, snapshot: () => string) => {
  let isBehind = false
  let hasMissed = false
  const send = (text: string): void => {
    if (isBehind) {
      hasMissed = true
      return
    }
    if (connection.write(text)) return
    isBehind = true
    connection.once('drain', () => {
      isBehind = false
      if (!hasMissed) return
      hasMissed = false
      send(snapshot())
    })
  }
  return {
    send,
    /** Sends the last text; resolves once the connection has taken it. */
    end: (text: string) => new Promise<void>((resolve) => connection.end(text, resolve)),
  }
}

const texts = z.looseObject({ reason: z.string() })
const [text, number] = [z.string(), z.number()]

/** What the page needs of a run. */
const LiveShape = z.looseObject({
  run: text,
  asOf: number,
  startedAt: number,
  at: number,
  stocks: number,
  done: number,
  share: number,
  total: number.optional(),
  leftMs: number.optional(),
  bytesPerSecond: number.optional(),
  step: text.optional(),
  fleet: z
    .looseObject({
      workers: z.array(z.looseObject({ name: text, items: number, perSecond: number })),
      stalled: number,
    })
    .optional(),
  phases: z.array(
    z.looseObject({
      phase: text,
      title: text,
      note: text,
      isSequential: z.boolean(),
      streams: z.array(z.looseObject({ name: text, summary: text })),
    }),
  ),
  streams: z.array(
    z.looseObject({
      name: text,
      state: text,
      done: number,
      workers: number,
      requests: number,
      retries: number,
      rateLimited: number,
      lost: number,
      partial: number,
      files: number,
      stored: number,
      statuses: z.record(text, number),
      failures: z.array(texts),
      warnings: z.array(texts),
      marbles: z.array(z.tuple([text, text])),
      pauses: z.array(z.looseObject({ what: text, why: text, since: number, until: number })),
    }),
  ),
})

/** The state of a run in a live file; undefined if it has another shape. */
const parseLiveState = (state: unknown): LiveRunState | undefined =>
  LiveShape.safeParse(state).data as LiveRunState | undefined

/** The run that another process has started on a folder. */
export const openLiveFile = (root: string): LiveSource => createLiveFileReader(root, parseLiveState)
