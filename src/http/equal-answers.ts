import { createHash } from 'node:crypto'
import {
  catchError,
  concatMap,
  EMPTY,
  every,
  finalize,
  from,
  ignoreElements,
  type MonoTypeOperatorFunction,
  map,
  merge,
  mergeMap,
  type Observable,
  of,
  Subject,
  take,
  tap,
  timer,
} from 'rxjs'
import { runSoon } from '../model/context.js'
import { isRow } from '../model/row.js'
import type { HttpReply, HttpRequest } from './transport.js'

/** The last answers with records of an endpoint that are compared. */
const WINDOW = 10
/** The same long bytes for three requests of ten are no chance; two series of a company may have the same. */
const MOST_OF_LONG = 3
/** On a day of results many stocks have one announcement, of 150 bytes: only if there is nothing else. */
const MOST_OF_SHORT = WINDOW
/** Most stocks have no announcement: how many have the same empty answer says nothing. */
const MOST_OF_EMPTY = Number.POSITIVE_INFINITY
/** So many short or empty ones of ten are a reason to send an earlier request again. */
const MANY_SHORT = 5
/** Two lists that are asked for in different words are never the same. */
const MOST_OF_LISTS = 2
const LONG = 700

/** An answer, as others are compared with it. */
export interface ComparedAnswer {
  readonly digest: string
  /** What was asked for: the same request may have the same answer. */
  readonly asked: string
  readonly item: string
  /** So many requests of the last ten with these bytes are refused. */
  readonly most: number
  readonly cache: string | undefined
}

/** What the reply to a request is compared by; nothing if it is a list without records. */
export const toComparedAnswer = (
  { body, cache }: HttpReply,
  answer: unknown,
  request: Pick<HttpRequest, 'url' | 'body'>,
  { item, isList = false }: { readonly item: string; readonly isList?: boolean | undefined },
): ComparedAnswer | undefined => {
  const isLong = body.length >= LONG
  const isEmpty = !hasRecords(answer, isLong)
  if (isEmpty && isList) return undefined
  const ofLong = isList ? MOST_OF_LISTS : MOST_OF_LONG
  const most = isEmpty ? MOST_OF_EMPTY : isLong ? ofLong : MOST_OF_SHORT
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
  readonly digest: string
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
  /** Other bytes in answers to requests that were sent after it: a cache may have been empty before. */
  readonly others: Set<SameBytes>
  /** A cache was perhaps being filled: it may have come before the answer with which it was. */
  mayBeEarly: boolean
}

/** How long such an answer waits for that other one. */
const EARLY_MS = 100

/** Counts the answers of an endpoint by their bytes. */
const createByteCounts = (isSuspicious: () => boolean) => {
  const known = new Map<string, SameBytes>()
  /** The digests of answers with records. */
  let kinds = 0
  let foundAt = Number.NEGATIVE_INFINITY
  const add = ({ digest, most }: ComparedAnswer): SameBytes => {
    const same = { digest, most, asked: new Set<string>(), items: new Set<string>(), at: [] }
    known.set(digest, same)
    if (most !== MOST_OF_EMPTY) kinds += 1
    return same
  }
  const counts = {
    compared: 0,
    /** The requests that were sent before the first answer and have none yet. */
    first: 0,
    /** How many were sent before it. */
    sentFirst: 0,
    /** A request was refused or failed: that it is sent again must not delay others. */
    hasFailed: false,
    /** Whether each of two requests had its own answer when they were sent again. */
    areOwn: undefined as boolean | undefined,
    addFirst: (): void => {
      counts.first += 1
      counts.sentFirst += 1
    },
    count: (one: ComparedAnswer): Doubt => {
      const { asked, item, most } = one
      counts.compared += 1
      const { compared } = counts
      const same = known.get(one.digest) ?? add(one)
      if (!same.asked.has(asked)) same.at = [...same.at, compared]
      same.at = same.at.filter((at) => compared - at < WINDOW)
      same.asked.add(asked)
      same.items.add(item)
      if (same.at.length >= most && (most < MOST_OF_SHORT || kinds === 1)) foundAt = compared
      const mayBeEarly = isSuspicious() && counts.first > 0 && compared <= 2 * counts.sentFirst
      return { same, compared, others: new Set(), mayBeEarly }
    },
    /** Whether it is refused; undefined while others are to decide. */
    judge: ({ same: { asked, most }, others, mayBeEarly }: Doubt): boolean | undefined => {
      const isAlone = asked.size === 1
      const [isShort, isEmpty] = [most >= MOST_OF_SHORT, most === MOST_OF_EMPTY]
      // On a quiet day there may be no other answer for long.
      if (isEmpty && kinds === 0) return false
      if (isAlone && mayBeEarly && counts.first > 0 && !counts.hasFailed) return undefined
      if (!isAlone && (counts.areOwn === false || (!isEmpty && counts.compared - foundAt < WINDOW)))
        return true
      if (isEmpty || (isShort && (kinds > 1 || asked.size < MANY_SHORT))) {
        const isMost = isSuspicious() && !isAlone && others.size <= WINDOW - MANY_SHORT
        return isMost && !counts.areOwn ? undefined : false
      }
      if (kinds === 1) return undefined
      return isAlone || others.size > WINDOW - most ? false : undefined
    },
    has: (digest: string): boolean => known.has(digest),
    /** Whether there are so many that requests are to be sent again. */
    areMany: ({ most, at }: SameBytes): boolean => most >= MOST_OF_SHORT && at.length >= MANY_SHORT,
  }
  return counts
}

interface ComparedRequest {
  readonly sendAgain: () => Observable<ComparedAnswer | undefined>
  readonly refuse: (why: string) => void
}

/** An earlier request, and the digest that its answer had. */
interface ControlRequest extends Pick<ComparedRequest, 'sendAgain'> {
  readonly digest: string
}

/** One alone may be what the cache has. */
const CONTROLS = 2

/** The first requests that had different answers, for when others decide nothing. */
const createControls = (counts: ReturnType<typeof createByteCounts>) => {
  const kept: ControlRequest[] = []
  const controls = {
    isSending: false,
    keep: (control: ControlRequest): void => {
      if (kept.length < CONTROLS) kept.push(control)
    },
    /** Whether they can decide about an answer. */
    canDecide: ({ same: { at } }: Doubt): boolean =>
      counts.areOwn === undefined && kept.length === CONTROLS && at.length > 1,
    /**
     * Sends them again: behind a cache that ignores what is asked for, one of them has the answer of another
     * request. Without an answer, nothing is decided.
     */
    send: (conclude: () => void): Observable<never> =>
      from(kept).pipe(
        concatMap(({ digest, sendAgain }) =>
          sendAgain().pipe(map((again) => again?.digest === digest || !counts.has(again?.digest ?? ''))),
        ),
        every((isOwn) => isOwn),
        catchError(() => of(undefined)),
        tap((areOwn) => {
          controls.isSending = false
          counts.areOwn = areOwn
          conclude()
        }),
        ignoreElements(),
        finalize(() => {
          controls.isSending = false
        }),
      ),
  }
  return controls
}

/** The answers that wait until it is decided whether they are refused. */
const createWaiting = (
  counts: ReturnType<typeof createByteCounts>,
  controls: ReturnType<typeof createControls>,
) => {
  const waiting = new Map<Subject<boolean | 'check'>, Doubt>()
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
  const check = (isDue: (doubt: Doubt) => boolean): void => {
    for (const [decided, doubt] of waiting) {
      if (controls.isSending || !isDue(doubt) || !controls.canDecide(doubt)) continue
      controls.isSending = true
      decided.next('check')
    }
  }
  const releaseIfStuck = (): void => {
    if (active > 0 || waiting.size === 0) return
    // Deferred: the worker of what has ended takes its next item first.
    runSoon(() => {
      if (active === 0) check(() => true)
      if (active === 0 && !controls.isSending) release(() => false)
    })
  }
  const conclude = (): void => {
    release(counts.areOwn === undefined ? () => false : counts.judge)
    releaseIfStuck()
  }
  const changeActive = (by: 1 | -1): void => {
    active += by
    releaseIfStuck()
  }
  const whenDecided = (doubt: Doubt): Observable<boolean> => {
    const decided = new Subject<boolean | 'check'>()
    const begin = (): void => {
      waiting.set(decided, doubt)
      // Deferred: it is not subscribed yet.
      runSoon(() => check(({ same }) => counts.areMany(same)))
      changeActive(-1)
    }
    const end = (): void => {
      waiting.delete(decided)
      changeActive(1)
    }
    const verdict$ = decided.pipe(mergeMap((one) => (one === 'check' ? controls.send(conclude) : of(one))))
    return merge(
      verdict$,
      waitForEarlier(doubt, () => release(counts.judge)),
    ).pipe(take(1), tap({ subscribe: begin, finalize: end }))
  }
  /** Whether a request that is under way is the only one, and nothing can decide about its answer. */
  const isLast = (doubt: Doubt): boolean => active === 1 && !controls.canDecide(doubt)
  return { changeActive, isLast, release, whenDecided, doubts: () => waiting.values() }
}

const waitForEarlier = (doubt: Doubt, end: () => void): Observable<never> =>
  (doubt.mayBeEarly ? timer(EARLY_MS) : EMPTY).pipe(
    tap(() => {
      doubt.mayBeEarly = false
      end()
    }),
    ignoreElements(),
  )

export type EqualAnswers = ReturnType<typeof createEqualAnswers>

/**
 * Finds answers of an endpoint that are the same bytes for different items: those of a cache that ignores
 * the body of requests, or of a service that answers every item with its default. While other requests to
 * the endpoint are under way, the first answer waits for a different one, and a later one with the bytes of
 * another item until there are enough of either. Where that decides nothing, as for empty answers, and such a
 * cache was found at another endpoint, two earlier requests are sent again: behind it one of them has another
 * answer than before.
 */
export const createEqualAnswers = (isSuspicious: () => boolean) => {
  const counts = createByteCounts(isSuspicious)
  const controls = createControls(counts)
  const waiting = createWaiting(counts, controls)
  /**
   * Emits the answer once it is known to be of its item. `find` returns what it is compared by, `sendAgain`
   * sends its request once more, and `refuse` throws unless the run accepts the answer.
   */
  const pass$ =
    <T>(
      find: () => ComparedAnswer | undefined,
      { sendAgain, refuse }: ComparedRequest,
    ): MonoTypeOperatorFunction<T> =>
    (answer$) => {
      let before = 0
      let isFirst = false
      const endFirst = (): void => {
        if (isFirst) counts.first -= 1
        isFirst = false
      }
      // Most answers pass at once. An inner Observable for each would keep it until the next major GC.
      const pass = (answer: T): T => {
        const one = find()
        endFirst()
        const doubt = one && counts.count(one)
        if (doubt === undefined) return answer
        for (const earlier of waiting.doubts())
          if (earlier.same !== doubt.same && before >= earlier.compared) earlier.others.add(doubt.same)
        waiting.release(counts.judge)
        const decide = (isRefused: boolean): T => {
          if (isRefused) refuse(formatEqual(doubt.same, one?.cache))
          return answer
        }
        if (doubt.same.asked.size === 1) controls.keep({ digest: doubt.same.digest, sendAgain })
        const isRefused = counts.judge(doubt) ?? (waiting.isLast(doubt) ? false : undefined)
        if (isRefused !== undefined) return decide(isRefused)
        throw new Undecided(waiting.whenDecided(doubt).pipe(map(decide)))
      }
      const begin = (): void => {
        before = counts.compared
        isFirst = before === 0
        if (isFirst) counts.addFirst()
        waiting.changeActive(1)
      }
      const end = (): void => {
        endFirst()
        waiting.release(counts.judge)
        waiting.changeActive(-1)
      }
      return answer$.pipe(
        map(pass),
        catchError((error: unknown) => {
          if (error instanceof Undecided) return error.answer$ as Observable<T>
          throw error
        }),
        tap({ subscribe: begin, finalize: end }),
      )
    }
  return { pass: pass$, onFailure: () => endEarly(counts, waiting) }
}

const endEarly = (
  counts: ReturnType<typeof createByteCounts>,
  { release }: ReturnType<typeof createWaiting>,
): void => {
  if (counts.hasFailed) return
  counts.hasFailed = true
  release(counts.judge)
}

/** An answer that others are to decide about. */
class Undecided {
  constructor(readonly answer$: Observable<unknown>) {}
}

const formatEqual = ({ items }: SameBytes, cache: string | undefined): string => {
  const some = [...items].slice(0, 3).join(', ')
  return `the answers for different items are the same bytes (${some}${cache ? `; ${cache}` : ''}): a cache before the provider seems to ignore what is asked for`
}
