import type { Random, SampleDocument, SampleMarket } from '../model/market.js'
import { toInstant } from '../model/trading-day.js'
import { createRandom, createRandomFrom } from './random.js'

const MS_PER_DAY = 86_400_000
const WEEK_MS = 7 * MS_PER_DAY
/** A Monday, at midnight in India. */
const EARLIEST_DAY = toInstant('1990-01-01')

/** The first week that begins at an instant or later. */
export const toWeek = (instant: number): number => Math.ceil((instant - EARLIEST_DAY) / WEEK_MS)

/** An instant on a working day of a week, mostly in the afternoon. */
export const drawInWeek = (week: number, random: Random): number =>
  EARLIEST_DAY +
  week * WEEK_MS +
  random.int(0, 4) * MS_PER_DAY +
  (8 * 3_600 + random.int(0, 28_800) + random.int(0, 28_799)) * 1_000

/** Documents are planned for so many weeks at once. */
const SPAN_WEEKS = 8

/**
 * The newest documents of a company, newest first. They are planned span by span from the seed alone, so that
 * each one is there from its instant on, and never changes.
 */
export const listDocuments = (
  key: readonly [seed: number, kind: string, sid: string],
  asOf: number,
  { perYear, count, days }: Parameters<SampleMarket['documents']>[2],
): readonly SampleDocument[] => {
  const since = asOf - days * MS_PER_DAY
  const found: SampleDocument[] = []
  for (
    let span = Math.floor(toWeek(asOf) / SPAN_WEEKS);
    (span + 1) * SPAN_WEEKS >= toWeek(since) && found.length < count;
    span--
  ) {
    const random = createRandom(...key, span)
    const length = Math.floor((random.next() * 2 * perYear * SPAN_WEEKS) / 52 + random.next())
    const planned = Array.from({ length }, (_, place) => ({
      id: `${span}-${place}`,
      at: drawInWeek(span * SPAN_WEEKS + random.int(0, SPAN_WEEKS - 1), random),
      random: createRandomFrom(random.int(0, 2 ** 31)),
    }))
    found.push(
      ...planned.filter(({ at }) => at > since && at <= asOf).sort((one, other) => other.at - one.at),
    )
  }
  return found.slice(0, count)
}
