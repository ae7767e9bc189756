import { defer, finalize, type Observable, of, Subject } from 'rxjs'
import { runSoon } from '../model/context.js'
import { type Advice, CollectError, type FailureOptions, refusals } from '../model/errors.js'
import type { FailedExchange } from '../model/failed-exchange.js'
import type { Pause } from '../operators/merge-map-with-pauses.js'

/**
 * The code of a rule, as in `RunOptions.accept` and `Problem.code`. Stored data stays, the item or the stream
 * fails with this code, and the run ends as partial; `RunOptions.accept` stores such answers anyway.
 */
export type RefusalCode = keyof typeof refusals

export const refusalCodes = Object.keys(refusals) as readonly RefusalCode[]

/** The thresholds of all rules. Shares are fractions of 1. */
export const thresholds = {
  /** A list, a history or the records of one stock must have at least this share of the stored ones. */
  minShare: 0.7,
  /**
   * More stocks than this, and more than this share, leave the master list at once. Usual is less than 1 %.
   */
  left: { most: 5, share: 0.05 },
  /**
   * More stocks of the master list than this, and more than this share, have another symbol, ISIN or Sid at
   * once. Usual are a handful.
   */
  identifiers: { most: 5, share: 0.02 },
  /**
   * The median ratio of a figure to the stored master list, over at least `minStocks` stocks, is at most
   * `most` and at least its inverse.
   */
  units: {
    minStocks: 20,
    figures: {
      // The worst day of the Indian market was -13 %, its widest year about a factor of 2. A wrong unit is a
      // factor of 10 or more.
      Mcap: { name: 'market cap', most: 2 },
      // As the market cap; a quarter of bad results moves the median by less.
      Pe: { name: 'P/E', most: 2 },
      // Shares since the opening: some minutes have a hundredth of a day, a special session of an hour a
      // tenth. Thousands or lakhs are beyond.
      volume: { name: 'volume', most: 500 },
    },
  },
  /**
   * If at least this many stocks with records, and more than this share of them, get empty answers, their
   * records stay.
   */
  emptied: { least: 20, share: 0.3 },
  /** A stream over at least this many items fails if all of them are empty. */
  allEmpty: 20,
  /**
   * A new candle of a stock or an index. No price band is wider than 40 %, so only a corporate action or a
   * long gap explains such a move. An unlisted demerger can take 80 to 90 % of a price, so a fall must exceed
   * that.
   */
  prices: {
    /** A price of this many times the previous close, or more. */
    rise: 5,
    /** A price of this share of the previous close, or less. */
    fall: 0.12,
    /** Rupees: a tick or two multiplies a price of a few paise. */
    minChange: 1,
    /**
     * After this many days without a candle any price is possible (7537 of the captured market: 8 times,
     * after 1,126 days).
     */
    restDays: 30,
    /**
     * Corporate actions explain a move this many days before or after their date (a session or a weekend).
     */
    actionDays: 4,
    /** An action of the month before explains a move that opens this near to its factor. */
    lateGap: 0.1,
    /** This many of the newest candles count as new; older ones are history and stored as served. */
    newest: 30,
    /**
     * A stored candle also counts as new if one of its prices changed by more than this share against the
     * rest of its history.
     */
    changed: 0.25,
    /**
     * A move to this multiple of the previous close, or this share of it: possible for a few stocks, a
     * provider error for many at once.
     */
    unusual: { rise: 1.45, fall: 0.6 },
  },
  /**
   * A history whose prices are a multiple of the stored ones, without a corporate action that explains it.
   */
  rescale: {
    /** A factor within this share of 1 is no multiple: single corrections of the history. */
    tolerance: 0.01,
    /**
     * A recent stored close that changed by more than this share disagrees with the stored history, whatever
     * the rest of it does.
     */
    recentChange: 0.05,
    /** A corporate action divides earlier prices; rounding may raise them up to this factor. */
    usualRise: 1.2,
    /** Refused for a single series from this multiple on: share consolidations reach 10 for 1. */
    impossibleRise: 20,
    /** Refused for a single series below this: a split into 10 with a bonus of 4 for 1 makes 1/50. */
    impossibleFall: 1 / 60,
    /**
     * A provider error if `maxSuspects` of the last `window` compared series are suspect. Usual are a few of
     * 2,775; after a year without the list of actions 8 %.
     */
    window: 60,
    maxSuspects: 12,
    /** If fewer series than `window` are compared: at least this many, and this share of them. */
    minSuspects: 5,
    suspectShare: 0.2,
  },
  /**
   * An update requests the last stored candle and what follows. On one weekday in `weekdays`, in turns, the
   * request of a series is for its full history (139 of 2,775 stocks a day), which is compared. A turn that
   * was missed is made up for `catchUp` weekdays: a weekly run also compares each history within 20 sessions,
   * and one after a long pause a quarter of them, not all.
   */
  rotation: { weekdays: 20, catchUp: 5 },
  /**
   * Two series of one instrument have the same day-to-day moves, whatever the factor. Those of two stocks
   * agree in about 5 %.
   */
  identity: {
    /** Fewer comparable moves decide nothing. */
    minMoves: 10,
    share: 0.3,
  },
  /**
   * Candles that do not fit their columns are left out, unless there are more than two and this share of the
   * answer: then the provider has changed it.
   */
  maxMisfits: 0.3,
  /** The most rows of a paged list: 40 times the deals of a month. A greater total is a provider error. */
  maxListRows: 100_000,
  /** The most pages requested beyond those that the total implies: ten days of deals fill about 16. */
  maxExtraPages: 200,
  /**
   * A required field is gone from an answer if 95 % of its records lack it. Such an answer is refused from 3
   * records on; a smaller one too, unless at least 5 answers of the run, and 4 in 5, have the field. In that
   * case answers are refused from 10 records on, and all of them after 10 answers in a row without the field:
   * it was renamed during the run.
   */
  fields: {
    missingShare: 0.95,
    minRecords: 3,
    minRecordsIfUsual: 10,
    answers: 5,
    usualShare: 0.8,
    inARow: 10,
  },
  /**
   * Drift makes a run partial if at least this many answers, and this share of them, show it. For a list that
   * one request fetches: this many of the checked records (three per answer), and `shareOfList` of them.
   */
  drift: { answers: 5, share: 0.2, records: 3, shareOfList: 0.8 },
} as const

/** The beginning of the remark about an item whose stored records were merged with a shorter answer. */
export const MERGED = 'merged with the stored records, which are more'

/** Whether so many of all items with stored data are empty at once that the provider must be wrong. */
export const areTooManyEmpty = (emptied: number, all: number): boolean =>
  emptied >= thresholds.emptied.least && emptied > thresholds.emptied.share * all

/** The answer is well-formed, but must not replace the stored data. */
export class RefusedError extends CollectError {
  override readonly name = 'RefusedError'
  readonly verdict = 'give-up'
  readonly status = 'error'

  constructor(
    readonly code: RefusalCode,
    readonly detail: string,
    options?: FailureOptions,
  ) {
    super(`${code}: ${detail}`, options)
  }

  override during(exchange: FailedExchange): RefusedError {
    return new RefusedError(this.code, this.detail, { advice: this.advice, ...exchange })
  }
}

/** What of a run decides whether a refused answer is stored all the same. */
interface Accepting {
  readonly accepts: (code: RefusalCode) => boolean
  readonly warn: (text: string) => void
}

/** Throws a `RefusedError`, or, if the run accepts this rule, adds a warning instead. */
export const refuse = (
  { accepts, warn }: Accepting,
  code: RefusalCode,
  message: string,
  advice?: Advice,
): void => {
  if (!accepts(code)) throw new RefusedError(code, message, { advice })
  warn(`accepted although ${message}`)
}

/**
 * Counts the compared series of a run, and those that are suspect: their prices jump, or have changed as a
 * whole.
 */
export type SuspectCounts = ReturnType<typeof createCounts>

export type SuspectDetector = ReturnType<typeof createSuspectDetector>

/**
 * Counts the suspect series of a run, each rule for itself: many indicate an error of the provider, a few are
 * single stocks whose prices changed. While the count is undecided, such series wait without occupying a
 * worker, at most `maxSuspects` of them.
 */
export const createSuspectDetector = () => {
  const groups: CountGroup[] = []
  const work: ActiveWork = {
    count: 0,
    groups,
    end: () => {
      work.count -= 1
      if (work.count > 0 || !groups.some(({ isWaiting }) => isWaiting())) return
      // Deferred: the worker of the work that has ended takes its next item first.
      runSoon(() => {
        for (const { decide } of groups) if (work.count === 0) decide()
      })
    },
  }
  return {
    ...createCounts(work),
    /**
     * The same for histories compared in rotation: 20 times as many updates beside them must not hide that
     * all of them changed.
     */
    histories: createCounts(work),
    /** The same for newest closes that the exchange's file contradicts. */
    witness: createCounts(work),
    /** Counts work as active from subscription to end. */
    track: <T>(work$: Observable<T>): Observable<T> =>
      defer(() => {
        work.count += 1
        return work$.pipe(finalize(work.end))
      }),
  }
}

interface CountGroup {
  readonly isWaiting: () => boolean
  readonly decide: () => void
}

/** The work that is active and does not wait. */
interface ActiveWork {
  count: number
  readonly groups: CountGroup[]
  readonly end: () => void
}

const createCounts = (work: ActiveWork) => {
  const { window, maxSuspects, minSuspects, suspectShare } = thresholds.rescale
  /** Waiting series, with the number of compared series at the start of their wait. */
  const waiters = new Map<Subject<boolean>, number>()
  let recent: readonly number[] = []
  let [compared, areMany] = [0, false]

  const releaseWhere = (isOver: (since: number) => boolean) => {
    for (const [waiting, since] of [...waiters]) {
      if (!isOver(since) || !waiters.delete(waiting)) continue
      work.count += 1
      waiting.next(areMany)
      waiting.complete()
    }
  }
  const compare = () => {
    compared += 1
    recent = recent.filter((at) => compared - at < window)
    releaseWhere((since) => areMany || compared - since >= window)
  }
  const decide = () => {
    areMany ||= recent.length >= minSuspects && recent.length >= suspectShare * Math.min(compared, window)
    releaseWhere(() => true)
  }
  work.groups.push({ isWaiting: () => waiters.size > 0, decide })
  return {
    /** Records a series that equals the stored one. */
    countUsual: compare,
    /** Records a series that is a multiple of the stored one. */
    countSuspect: () => {
      compare()
      recent = [...recent, compared]
      areMany ||= recent.length >= maxSuspects
      if (areMany) releaseWhere(() => true)
    },
    /**
     * Whether many series are multiples: emits once that is decided, at the latest when only waiting work is
     * left.
     */
    whenDecided: (pause: Pause) =>
      defer(() => {
        if (areMany) return of(true)
        const waiting = new Subject<boolean>()
        const isMany$ = defer(() => {
          waiters.set(waiting, compared)
          work.end()
          return waiting
        })
        // Its worker takes the next item first: that is active, too, and may decide.
        return pause(isMany$).pipe(
          finalize(() => {
            if (waiters.delete(waiting)) work.count += 1
          }),
        )
      }),
  }
}
