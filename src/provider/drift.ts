import type { Drift } from '../model/report.js'
import type { AnyEndpoint } from './endpoint.js'
import type { Requiring } from './required.js'
import { type Watch, watchOf } from './shape-watch.js'

export type { Watch }

/** Gathers what drifted in a run: call by call, in how many of how many answers. */
export interface DriftWatch {
  /** Watches the calls of a stream, those that state a shape. */
  readonly ofStream: (stream: string) => (endpoint: AnyEndpoint) => Watch | undefined
  /** What another process of the run has seen so far; what it told before counts no more, though it may come later. */
  readonly add: (source: string, seen: readonly Drift[]) => void
  /** The most frequent first. */
  readonly found: () => readonly Drift[]
}

const MOST_TOLD = 48

/** Without `requiring`, answers are only compared. */
export const createDriftWatch = (requiring?: Requiring): DriftWatch => {
  const watched: (() => readonly Drift[])[] = []
  const streams = new Map<string, ReturnType<DriftWatch['ofStream']>>()
  const elsewhere = new Map<string, readonly Drift[]>()
  return {
    ofStream: (stream) => {
      const before = streams.get(stream)
      if (before) return before
      const watches = new Map<AnyEndpoint, Watch>()
      const watching = (endpoint: AnyEndpoint): Watch | undefined => {
        const known = watches.get(endpoint)
        if (known || endpoint.shape === undefined) return known
        const { watch, found } = watchOf({ stream, endpoint: endpoint.name, shape: endpoint.shape }, requiring)
        watches.set(endpoint, watch)
        watched.push(found)
        return watch
      }
      streams.set(stream, watching)
      return watching
    },
    add: (source, seen) => {
      if (answersIn(seen) >= answersIn(elsewhere.get(source) ?? [])) elsewhere.set(source, seen)
    },
    found: () =>
      addedUp([...watched.flatMap((found) => found()), ...[...elsewhere.values()].flat()])
        .sort((one, other) => other.answers - one.answers)
        .slice(0, MOST_TOLD),
  }
}

const answersIn = (drifts: readonly Drift[]): number => drifts.reduce((sum, { answers }) => sum + answers, 0)

/** The same drift, seen by several processes, once. */
const addedUp = (all: readonly Drift[]): Drift[] => {
  const sums = new Map<string, Drift>()
  for (const one of all) {
    const { stream, endpoint, kind, field, expected, seen } = one
    const key = JSON.stringify([stream, endpoint, kind, field, expected, seen])
    const sum = sums.get(key)
    sums.set(key, sum === undefined ? one : plus(sum, one))
  }
  return [...sums.values()]
}

const plus = (sum: Drift, one: Drift): Drift => ({
  ...sum,
  answers: sum.answers + one.answers,
  of: sum.of + one.of,
  records: sum.records + one.records,
  ofRecords: sum.ofRecords + one.ofRecords,
})
