import type { SampleDocument } from '../model/market.js'
import { toInstant } from '../model/trading-day.js'
import { createRandom, createRandomFrom } from './random.js'

const DAY_MS = 86_400_000
/** Documents are planned for so many weeks at once. */
const SPAN_WEEKS = 8
const SPAN_MS = SPAN_WEEKS * 7 * DAY_MS
/** A Monday, at midnight in India. */
const FIRST_DAY = toInstant('1990-01-01')
/** The hours in which most documents come. */
const HOURS = [9, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15, 16, 16, 16, 17, 17, 17, 18, 18, 18, 19, 19, 20, 21, 22] as const

interface DocumentOptions {
  readonly seed: number
  readonly asOf: number
  /** Of the company and the kind. */
  readonly key: string
  readonly perYear: number
  readonly count: number
  readonly days: number
}

/**
 * The newest documents of a company, newest first. They are planned span by span from the seed alone, so that each one is there from its instant
 * on, and never changes.
 */
export const listDocuments = ({ seed, asOf, key, perYear, count, days }: DocumentOptions): readonly SampleDocument[] => {
  const now = Math.floor((asOf - FIRST_DAY) / SPAN_MS)
  const since = asOf - days * DAY_MS
  const found: SampleDocument[] = []
  for (let span = now; FIRST_DAY + (span + 1) * SPAN_MS > since && found.length < count; span--)
    for (const document of planSpan(span, { seed, key, perYear })) if (document.at > since && document.at <= asOf) found.push(document)
  return found.slice(0, count)
}

const planSpan = (span: number, { seed, key, perYear }: Pick<DocumentOptions, 'seed' | 'key' | 'perYear'>): readonly SampleDocument[] => {
  const random = createRandom(seed, 'documents', key, span)
  const usual = (perYear / 52) * SPAN_WEEKS * 2 * random.next()
  const length = Math.floor(usual) + (random.chance(usual % 1) ? 1 : 0)
  return Array.from({ length }, (_, place) => {
    const day = random.int(0, SPAN_WEEKS - 1) * 7 + (random.chance(0.96) ? random.int(0, 4) : random.int(5, 6))
    const at = FIRST_DAY + span * SPAN_MS + day * DAY_MS + random.pick(HOURS) * 3_600_000 + random.int(0, 3_599) * 1_000
    return { at, id: `${span}-${place}`, random: createRandomFrom(random.int(0, 2 ** 31)) }
  }).sort((one, other) => other.at - one.at)
}
