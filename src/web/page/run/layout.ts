import type { LivePhase, LiveStream } from '../../api/live.js'

/** Where a stream is drawn. */
export interface PlacedStream {
  readonly name: string
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface PlacedPhase {
  readonly phase: LivePhase
  readonly titleY: number
  readonly streams: readonly PlacedStream[]
}

/**
 * The drawing of the graph: phases from top to bottom, a barrier between the first and the others, and one at
 * the end.
 */
export type GraphLayout = ReturnType<typeof layOutGraph>

const TITLE = 32
const BARRIER = 32
/** The space on the left for the line. */
export const INDENT = 24
const STREAM_GAP = 24

export const layOutGraph = (
  phases: readonly LivePhase[],
  { width, hasMarbles }: { readonly width: number; readonly hasMarbles: boolean },
) => {
  const isNarrow = width < 900
  let y = 0
  const placed: PlacedPhase[] = []
  /** Lines across the whole width. */
  const barriers: { y: number; after: readonly string[] }[] = []
  /** The line on the left from which the streams of a phase branch off. */
  const buses: { from: number; to: number }[] = []
  const passed: string[] = []
  let busFrom = 0
  for (const [index, phase] of phases.entries()) {
    const titleY = y + 22
    y += TITLE
    const isRow = phase.isSequential && !isNarrow
    const height = (isRow || isNarrow ? 44 : 28) + (hasMarbles ? 16 : 0)
    const place = isRow ? placeInRow : placeBelow
    const streams = place(phase, { y, width, height })
    y = Math.max(y, ...streams.map((stream) => stream.y + stream.height))
    placed.push({ phase, titleY, streams })
    passed.push(...phase.streams.map(({ name }) => name))
    const isLast = index === phases.length - 1
    // The phases after the first run side by side: only the last barrier waits for them.
    if (index === 0 || isLast) {
      if (!isRow) buses.push({ from: busFrom, to: lastCentre(streams) })
      y += BARRIER / 2
      barriers.push({ y, after: [...passed] })
      busFrom = y
      y += BARRIER / 2
    }
  }
  /** The first phase with rows: above it are the titles of the columns. */
  const headed = phases.find(({ isSequential }) => !isSequential)?.phase
  return { width, height: y, phases: placed, barriers, buses, isNarrow, headed }
}

const lastCentre = (streams: readonly PlacedStream[]): number => {
  const last = streams.at(-1)
  return last === undefined ? 0 : last.y + 14
}

type PlaceOptions = Pick<PlacedStream, 'y' | 'width' | 'height'>

/** Side by side, with room for an arrow between. */
const placeInRow = ({ streams }: LivePhase, { y, width, height }: PlaceOptions): readonly PlacedStream[] => {
  const own = (width - STREAM_GAP * (streams.length - 1)) / Math.max(1, streams.length)
  return streams.map(({ name }, index) => ({ name, x: index * (own + STREAM_GAP), y, width: own, height }))
}

const placeBelow = ({ streams }: LivePhase, { y, width, height }: PlaceOptions): readonly PlacedStream[] =>
  streams.map(({ name }, index) => ({
    name,
    x: INDENT,
    y: y + index * height,
    width: width - INDENT,
    height,
  }))

/** The phases with these streams only: a run has no place for others. */
export const keepStreams = (
  phases: readonly LivePhase[],
  streams: readonly Pick<LiveStream, 'name'>[],
): readonly LivePhase[] => {
  const names = new Set(streams.map(({ name }) => name))
  return phases.flatMap((phase) => {
    const kept = phase.streams.filter(({ name }) => names.has(name))
    return kept.length === 0 ? [] : [{ ...phase, streams: kept }]
  })
}
