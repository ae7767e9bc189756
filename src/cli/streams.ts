import type { Phase, StreamDefinition } from '../pipeline/define-stream.js'
import { toFilePath } from '../pipeline/output.js'

interface PhaseText {
  readonly phase: Phase
  readonly title: string
  readonly note: string
}

/** The phases in their order, with the texts for people. */
const phaseTexts: readonly PhaseText[] = [
  { phase: 'core', title: 'phase 1: core', note: 'one after the other' },
  { phase: 'enrichment', title: 'phase 2: enrichment', note: 'side by side' },
  { phase: 'candles', title: 'phase 2.5: candles', note: 'side by side with phase 2, if FETCH_OHLCV' },
]

export interface PhaseGroup<Member = StreamDefinition> extends PhaseText {
  readonly members: readonly Member[]
}

/** The phases that have streams, each with its streams in the order of the registry. */
export const groupByPhase = <Member extends Pick<StreamDefinition, 'phase'>>(streams: readonly Member[]): readonly PhaseGroup<Member>[] =>
  phaseTexts
    .map((text) => ({ ...text, members: streams.filter(({ phase }) => phase === text.phase) }))
    .filter(({ members }) => members.length > 0)

/** The files of a stream for display: their names, or one pattern if there is a file per stock or index. */
export const listOutputFiles = ({ outputs, work }: Pick<StreamDefinition, 'outputs' | 'work'>, exchange = '{exch}'): readonly string[] => {
  const named = outputs.flatMap((output) =>
    work.of === undefined
      ? work.parts.map((part) => toFilePath(output, exchange, part))
      : [output.file.replaceAll('{exch}', exchange.toLowerCase())],
  )
  return [...new Set(named)]
}
