import { UsageError } from '../model/errors.js'
import type { Phase, StreamDefinition } from './define-stream.js'
import { MASTER } from './work.js'

const ORDER: readonly Phase[] = ['core', 'enrichment', 'candles']

/** Throws a `UsageError` for streams that cannot run together: two of one name, or one that follows what is not there, not offered or later. */
export const checkRegistry = (streams: readonly StreamDefinition[]): void => {
  for (const [place, { name, phase, work }] of streams.entries()) {
    if (streams.findIndex((stream) => stream.name === name) !== place) throw new UsageError(`two streams are called ${name}: rename one`)
    if (name === MASTER && phase !== 'core') throw new UsageError(`${MASTER} leads the run: its phase must be core`)
    if (work.of === undefined) continue
    const source = streams.find((stream) => stream.name === work.of)
    if (source?.offers === undefined) {
      throw new UsageError(
        `${name} follows ${work.of}, which ${source === undefined ? 'is no stream' : 'offers nothing'}: add it, or its offers`,
      )
    }
    const isEarlier =
      ORDER.indexOf(source.phase) < ORDER.indexOf(phase) ||
      (source.phase === phase && (phase !== 'core' || streams.indexOf(source) < place))
    if (!isEarlier) throw new UsageError(`${name} follows ${work.of}, which runs later: move one of them to another phase`)
  }
}

/** The streams that one follows, nearest first. */
export function* sourcesOf({ work }: StreamDefinition, streams: readonly StreamDefinition[]): Generator<StreamDefinition> {
  const source = streams.find(({ name }) => name === work.of)
  if (source === undefined) return
  yield source
  yield* sourcesOf(source, streams)
}
