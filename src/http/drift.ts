import type { Drift } from '../model/report.js'
import type { AnyEndpoint } from './endpoint.js'
import type { RequiredFieldPolicy } from './required-fields.js'
import { createShapeWatch, type ShapeWatch } from './shape-watch.js'

export type { ShapeWatch }

/** Collects the drift of a run, by endpoint, with counts of answers and records. */
export interface DriftWatch {
  /** Checks the endpoints of a stream that declare a shape. */
  readonly forStream: (stream: string) => (endpoint: AnyEndpoint) => ShapeWatch | undefined
  /** Replaces the drift that another process of the run has reported so far; a late report with fewer answers is ignored. */
  readonly add: (source: string, seen: readonly Drift[]) => void
  /** The most frequent first. */
  readonly listDrifts: () => readonly Drift[]
}

const MAX_REPORTED = 48

/** Without a policy for required fields, drift is recorded and no answer is refused. */
export const createDriftWatch = (policy?: RequiredFieldPolicy): DriftWatch => {
  const watched: (() => readonly Drift[])[] = []
  const streams = new Map<string, ReturnType<DriftWatch['forStream']>>()
  const byProcess = new Map<string, readonly Drift[]>()
  return {
    forStream: (stream) => {
      const existing = streams.get(stream)
      if (existing) return existing
      const watches = new Map<AnyEndpoint, ShapeWatch>()
      const watchEndpoint = (endpoint: AnyEndpoint): ShapeWatch | undefined => {
        const known = watches.get(endpoint)
        if (known || endpoint.shape === undefined) return known
        const { watch, listDrifts } = createShapeWatch({ stream, endpoint: endpoint.name, shape: endpoint.shape }, policy)
        watches.set(endpoint, watch)
        watched.push(listDrifts)
        return watch
      }
      streams.set(stream, watchEndpoint)
      return watchEndpoint
    },
    add: (source, seen) => {
      if (sumAnswers(seen) >= sumAnswers(byProcess.get(source) ?? [])) byProcess.set(source, seen)
    },
    listDrifts: () =>
      mergeDrifts([...watched.flatMap((list) => list()), ...[...byProcess.values()].flat()])
        .sort((one, other) => other.answers - one.answers)
        .slice(0, MAX_REPORTED),
  }
}

const sumAnswers = (drifts: readonly Drift[]): number => drifts.reduce((sum, { answers }) => sum + answers, 0)

/** Merges the same drift seen by several processes. */
const mergeDrifts = (all: readonly Drift[]): Drift[] => {
  const sums = new Map<string, Drift>()
  for (const one of all) {
    const { stream, endpoint, kind, field, expected, seen } = one
    const key = JSON.stringify([stream, endpoint, kind, field, expected, seen])
    const sum = sums.get(key)
    sums.set(key, sum === undefined ? one : addDrift(sum, one))
  }
  return [...sums.values()]
}

const addDrift = (sum: Drift, one: Drift): Drift => ({
  ...sum,
  answers: sum.answers + one.answers,
  of: sum.of + one.of,
  records: sum.records + one.records,
  ofRecords: sum.ofRecords + one.ofRecords,
})
