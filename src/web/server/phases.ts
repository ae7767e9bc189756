import { omitUndefined } from '../../model/row.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { groupByPhase } from '../../pipeline/phases.js'
import type { LivePhase } from '../api/live.js'

/** The graph of a run: the phases in their order, each with its streams. */
export const describePhases = (streams: readonly StreamDefinition[]): readonly LivePhase[] =>
  groupByPhase(streams).map(({ phase, title, note, isSequential, members }) => ({
    ...{ phase, title, note, isSequential },
    streams: members.map(({ name, summary, work }) => omitUndefined({ name, summary, of: work.of })),
  }))
