import { createHash } from 'node:crypto'
import {
  asapScheduler,
  type MonoTypeOperatorFunction,
  map,
  mergeMap,
  type Observable,
  of,
  Subject,
  tap,
} from 'rxjs'
import { isRow } from '../model/row.js'
import type { Pause } from '../operators/merge-map-with-pauses.js'
import type { HttpReply } from './transport.js'

/** The last answers with records of an endpoint that are compared. */
const WINDOW = 10
/** The same long bytes for three items of ten are no chance; two series of a company may have the same. */
const MOST_OF_LONG = 3
/** On a day of results many stocks have the same announcement, of 150 bytes. */
const MOST_OF_SHORT = WINDOW
/** Fewer short ones say nothing, also if nothing else was answered. */
const MIN_SHORT = 3
/** Two lists that are asked for in different words are never the same. */
const MOST_OF_LISTS = 2
const LONG = 1_024

/** An answer that has records, as others are compared with it. */
export interface ComparedAnswer {
  readonly digest: string
  readonly item: string
  /** So many items of the last ten with these bytes are refused. */
  readonly most: number
  readonly cache: string | undefined
}

/** What the reply to a request for an item is compared by; nothing if its answer has no records. */
export const toComparedAnswer = (
  { body, cache }: HttpReply,
  answer: unknown,
  { item, isList = false }: { readonly item: string; readonly isList?: boolean | undefined },
): ComparedAnswer | undefined => {
  const isLong = body.length >= LONG
  if (!hasRecords(answer, isLong)) return undefined
  const ofLong = isList ? MOST_OF_LISTS : MOST_OF_LONG
  return { digest: toDigest(body), item, most: isLong ? ofLong : MOST_OF_SHORT, cache: cache?.shown }
}

/** Lists are empty or not; of what is no list, such as candles as text, the length decides. */
const hasRecords = (answer: unknown, isLong: boolean): boolean => {
  if (Array.isArray(answer)) return answer.length > 0
  return (
    isLong || (isRow(answer) && Object.values(answer).some((one) => Array.isArray(one) && one.length > 0))
  )
}

const SAMPLE = 512

/** Of the begin, the middle and the end: a digest of all bytes takes 20 times as long. */
const toDigest = (body: Uint8Array): string => {
  const digest = createHash('md5').update(`${body.length} `)
  if (body.length <= 3 * SAMPLE) return digest.update(body).digest('base64')
  const middle = body.length >> 1
  return digest
    .update(body.subarray(0, SAMPLE))
    .update(body.subarray(middle, middle + SAMPLE))
    .update(body.subarray(-SAMPLE))
    .digest('base64')
}

/** The answers of one digest. */
interface SameBytes {
  readonly most: number
  readonly items: Set<string>
  /** The numbers of the answers that were the first for their item, of the last ten. */
  at: readonly number[]
}

/** An answer that others are to decide about. */
interface Doubt {
  readonly same: SameBytes
  /** The answers before it. */
  readonly compared: number
  /** Different answers to requests that were sent after it had come: a cache may have been empty before. */
  others: number
}

/** Counts the answers of an endpoint with records, by their bytes. */
const createCounts = () => {
  const known = new Map<string, SameBytes>()
  let hasFound = false
  const counts = {
    compared: 0,
    count: ({ digest, item, most }: ComparedAnswer): Doubt => {
      counts.compared += 1
      const { compared } = counts
      const same = known.get(digest) ?? { most, items: new Set(), at: [] }
      known.set(digest, same)
      if (!same.items.has(item)) same.at = [...same.at, compared].filter((at) => compared - at < WINDOW)
      same.items.add(item)
      hasFound ||= same.at.length >= most
      return { same, compared, others: 0 }
    },
    /** Whether it is refused; undefined while others are to decide. */
    judge: ({ same: { items, most }, others }: Doubt): boolean | undefined => {
      const isAlone = items.size === 1
      if (hasFound && !isAlone) return true
      if (most === MOST_OF_SHORT && items.size < MIN_SHORT) return false
      if (known.size === 1) return undefined
      return isAlone || others > WINDOW - most ? false : undefined
    },
    /** The same if no others will come. */
    judgeAtEnd: ({ same: { items, most } }: Doubt): boolean =>
      known.size === 1 && items.size > 1 && most < MOST_OF_SHORT,
  }
  return counts
}

/** The answers that wait until it is decided whether they are refused. */
const createWaiting = (judgeAtEnd: (doubt: Doubt) => boolean) => {
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
  const leave = (): void => {
    active -= 1
    if (active > 0 || waiting.size === 0) return
    // Deferred: the worker of what has ended takes its next item first.
    asapScheduler.schedule(() => {
      if (active === 0) release(judgeAtEnd)
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
  return { enter, leave, release, whenDecided, doubts: () => waiting.values() }
}

export type EqualAnswers = ReturnType<typeof createEqualAnswers>

/**
 * Finds answers of an endpoint that are the same bytes for different items: those of a cache that ignores
 * the body of requests, or of a service that answers every item with its default. `refuse` throws unless the
 * run accepts them. The first answer waits for a different one, and a later one with bytes of another item
 * until there are enough of either; at the latest until no other request to the endpoint is under way.
 */
export const createEqualAnswers = (refuse: (why: string) => void) => {
  const counts = createCounts()
  const waiting = createWaiting(counts.judgeAtEnd)
  /** Emits the answer once it is known to be of its item. `find` returns what it is compared by. */
  return <T>(find: () => ComparedAnswer | undefined, pause: Pause): MonoTypeOperatorFunction<T> =>
    (answer$) => {
      let before = 0
      const pass = (answer: T): Iterable<T> | Observable<T> => {
        const one = find()
        if (one === undefined) return [answer]
        const doubt = counts.count(one)
        for (const earlier of waiting.doubts())
          if (earlier.same !== doubt.same && before >= earlier.compared) earlier.others += 1
        waiting.release(counts.judge)
        const isRefused = counts.judge(doubt)
        if (isRefused === false) return [answer]
        const decided$ = isRefused ? of(true) : pause(waiting.whenDecided(doubt))
        return decided$.pipe(
          map((mustRefuse) => {
            if (mustRefuse) refuse(formatEqual(doubt.same, one.cache))
            return answer
          }),
        )
      }
      const begin = (): void => {
        before = counts.compared
        waiting.enter()
      }
      return answer$.pipe(mergeMap(pass), tap({ subscribe: begin, finalize: waiting.leave }))
    }
}

const formatEqual = ({ items }: SameBytes, cache: string | undefined): string => {
  const some = [...items].slice(0, 3).join(', ')
  return `the answers for different items are the same bytes (${some}${cache ? `; ${cache}` : ''}): a cache before the provider seems to ignore what is asked for`
}
