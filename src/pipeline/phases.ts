import type { StreamForecast } from '../model/progress.js'
import type { Settings } from '../model/settings.js'
import { MASTER, type Phase, type StreamDefinition } from './define-stream.js'
import { toFilePath } from './output.js'

interface PhaseText {
  readonly phase: Phase
  readonly title: string
  readonly note: string
  /** Its streams run one after the other, not side by side. */
  readonly isSequential: boolean
}

/** The phases in their order, with the texts for people. */
const phaseTexts: readonly PhaseText[] = [
  { phase: 'core', title: 'phase 1: core', note: 'one after the other', isSequential: true },
  { phase: 'enrichment', title: 'phase 2: enrichment', note: 'in parallel', isSequential: false },
  {
    phase: 'candles',
    title: 'phase 2.5: candles',
    note: 'in parallel with phase 2; the setting FETCH_OHLCV=false leaves it out',
    isSequential: false,
  },
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

/** What is known of the streams before a run. */
export const forecastStreams = (streams: readonly StreamDefinition[], settings: Pick<Settings, 'workers'>): readonly StreamForecast[] =>
  streams.map(({ name, phase, workers, work: { of, parts } }) => ({
    name,
    isSequential: phaseTexts.some((text) => text.phase === phase && text.isSequential),
    workers: settings.workers[name] ?? workers,
    items: of === undefined ? parts.length : of === MASTER ? 'stocks' : undefined,
  }))
