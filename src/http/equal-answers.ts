import { createHash } from 'node:crypto'
import {
  asapScheduler,
  catchError,
  type MonoTypeOperatorFunction,
  map,
  type Observable,
  Subject,
  tap,
} from 'rxjs'
import { isRow } from '../model/row.js'
import type { HttpReply, HttpRequest } from './transport.js'

/** The last answers with records of an endpoint that are compared. */
const WINDOW = 10
/** The same long bytes for three requests of ten are no chance; two series of a company may have the same. */
const MOST_OF_LONG = 3
/** On a day of results many stocks have one announcement, of 150 bytes: only if there is nothing else. */
const MOST_OF_SHORT = WINDOW
/** Fewer short ones say nothing, also if nothing else was answered. */
const MIN_SHORT = 3
/** Two lists that are asked for in different words are never the same. */
const MOST_OF_LISTS = 2
const LONG = 700

/** An answer that has records, as others are compared with it. */
export interface ComparedAnswer {
  readonly digest: string
  /** What was asked for: the same request may have the same answer. */
  readonly asked: string
  readonly item: string
  /** So many requests of the last ten with these bytes are refused. */
  readonly most: number
  readonly cache: string | undefined
}

/** What the reply to a request is compared by; nothing if its answer has no records. */
export const toComparedAnswer = (
  { body, cache }: HttpReply,
  answer: unknown,
  request: Pick<HttpRequest, 'url' | 'body'>,
  { item, isList = false }: { readonly item: string; readonly isList?: boolean | undefined },
): ComparedAnswer | undefined => {
  const isLong = body.length >= LONG
  if (!hasRecords(answer, isLong)) return undefined
  const ofLong = isList ? MOST_OF_LISTS : MOST_OF_LONG
  const most = isLong ? ofLong : MOST_OF_SHORT
  return { digest: toDigest(body), asked: `${request.url} ${request.body}`, item, most, cache: cache?.shown }
}

/** Lists are empty or not; of what is no list, such as candles as text, the length decides. */
const hasRecords = (answer: unknown, isLong: boolean): boolean => {
  if (Array.isArray(answer)) return answer.length > 0
  return (
    isLong || (isRow(answer) && Object.values(answer).some((one) => Array.isArray(one) && one.length > 0))
  )
}

const MAX_WHOLE = 8_192
const SAMPLES = 8
const SAMPLE = 512

/** Of all bytes; of a long body, of parts of it, because all bytes would take 20 times as long. */
const toDigest = (body: Uint8Array): string => {
  const digest = createHash('md5').update(`${body.length} `)
  if (body.length <= MAX_WHOLE) return digest.update(body).digest('base64')
  const step = (body.length - SAMPLE) / (SAMPLES - 1)
  for (let part = 0; part < SAMPLES; part += 1) {
    const from = Math.floor(part * step)
    digest.update(body.subarray(from, from + SAMPLE))
  }
  return digest.digest('base64')
}

/** The answers of one digest. */
interface SameBytes {
  readonly most: number
  readonly asked: Set<string>
  readonly items: Set<string>
  /** The numbers of the answers that were the first to their request, of the last ten. */
  at: readonly number[]
}

/** An answer that is compared. */
interface Doubt {
  readonly same: SameBytes
  /** The answers before it. */
  readonly compared: number
  /** Different answers to requests that were sent after it had come: a cache may have been empty before. */
  others: number
}

/** Counts the answers of an endpoint with records, by their bytes. */
const createByteCounts = () => {
  const known = new Map<string, SameBytes>()
  let foundAt = Number.NEGATIVE_INFINITY
  const counts = {
    compared: 0,
    count: ({ digest, asked, item, most }: ComparedAnswer): Doubt => {
      counts.compared += 1
      const { compared } = counts
      const same = known.get(digest) ?? { most, asked: new Set(), items: new Set(), at: [] }
      known.set(digest, same)
      if (!same.asked.has(asked)) same.at = [...same.at, compared]
      same.at = same.at.filter((at) => compared - at < WINDOW)
      same.asked.add(asked)
      same.items.add(item)
      if (same.at.length >= most && (most < MOST_OF_SHORT || known.size === 1)) foundAt = compared
      return { same, compared, others: 0 }
    },
    /** Whether it is refused; undefined while others are to decide. */
    judge: ({ same: { asked, most }, others }: Doubt): boolean | undefined => {
      const isAlone = asked.size === 1
      if (!isAlone && counts.compared - foundAt < WINDOW) return true
      if (most === MOST_OF_SHORT && (known.size > 1 || asked.size < MIN_SHORT)) return false
      if (known.size === 1) return undefined
      return isAlone || others > WINDOW - most ? false : undefined
    },
  }
  return counts
}

/** The answers that wait until it is decided whether they are refused. */
const createWaiting = () => {
  const waiting = new Map<Subject<boolean>, Doubt>()
  /** The requests to the endpoint that are under way and do not wait. */
  let active = 0
  const release = (decide: (doubt: Doubt) => boolean | undefined): void => {
    for (const [decided, doubt] of [...waiting]) {
      const isRefused = decide(doubt)
      if (isRefused === undefined || !waiting.delete(decided)) continue
      decided.next(isRefused)
      decided.complete()
    }
  }
  const enter = (): void => {
    active += 1
  }
  /** Whether a request that is under way is the only one. */
  const isLast = (): boolean => active === 1
  const leave = (): void => {
    active -= 1
    if (active > 0 || waiting.size === 0) return
    // Deferred: the worker of what has ended takes its next item first.
    asapScheduler.schedule(() => {
      if (active === 0) release(() => false)
    })
  }
  const whenDecided = (doubt: Doubt): Observable<boolean> => {
    const decided = new Subject<boolean>()
    const begin = (): void => {
      waiting.set(decided, doubt)
      leave()
    }
    const end = (): void => {
      waiting.delete(decided)
      enter()
    }
    return decided.pipe(tap({ subscribe: begin, finalize: end }))
  }
  return { enter, leave, isLast, release, whenDecided, doubts: () => waiting.values() }
}

export type EqualAnswers = ReturnType<typeof createEqualAnswers>

/**
 * Finds answers of an endpoint that are the same bytes for different items: those of a cache that ignores
 * the body of requests, or of a service that answers every item with its default. `refuse` throws unless the
 * run accepts them. While other requests to the endpoint are under way, the first answer waits for a
 * different one, and a later one with the bytes of another item until there are enough of either.
 */
export const createEqualAnswers = (refuse: (why: string) => void) => {
  const counts = createByteCounts()
  const waiting = createWaiting()
  /** Emits the answer once it is known to be of its item. `find` returns what it is compared by. */
  return <T>(find: () => ComparedAnswer | undefined): MonoTypeOperatorFunction<T> =>
    (answer$) => {
      let before = 0
      // Most answers pass at once. An inner Observable for each would keep it until the next major GC.
      const pass = (answer: T): T => {
        const one = find()
        if (one === undefined) return answer
        const doubt = counts.count(one)
        for (const earlier of waiting.doubts())
          if (earlier.same !== doubt.same && before >= earlier.compared) earlier.others += 1
        waiting.release(counts.judge)
        const decide = (isRefused: boolean): T => {
          if (isRefused) refuse(formatEqual(doubt.same, one.cache))
          return answer
        }
        const isRefused = counts.judge(doubt) ?? (waiting.isLast() ? false : undefined)
        if (isRefused !== undefined) return decide(isRefused)
        throw new Undecided(waiting.whenDecided(doubt).pipe(map(decide)))
      }
      const begin = (): void => {
        before = counts.compared
        waiting.enter()
      }
      return answer$.pipe(
        map(pass),
        catchError((error: unknown) => {
          if (error instanceof Undecided) return error.answer$ as Observable<T>
          throw error
        }),
        tap({ subscribe: begin, finalize: waiting.leave }),
      )
    }
}

/** An answer that others are to decide about. */
class Undecided {
  constructor(readonly answer$: Observable<unknown>) {}
}

const formatEqual = ({ items }: SameBytes, cache: string | undefined): string => {
  const some = [...items].slice(0, 3).join(', ')
  return `the answers for different items are the same bytes (${some}${cache ? `; ${cache}` : ''}): a cache before the provider seems to ignore what is asked for`
}
