import { UsageError } from '../model/errors.js'
import type { Settings } from '../model/settings.js'
import type { Phase, StreamDefinition } from './define-stream.js'

export interface Selection {
  readonly only?: readonly string[]
  readonly skip?: readonly string[]
}

export interface Planned {
  readonly stream: StreamDefinition
  readonly state: 'waiting' | 'skipped' | 'disabled'
  /** The stream that needs it, where nobody asked for it by name. */
  readonly neededBy?: string
}

/** Which streams run, in the registry's order. Wrong or contradictory names are a `UsageError`. */
export const planRun = (
  streams: readonly StreamDefinition[],
  settings: Settings,
  { only, skip = [] }: Selection = {},
): readonly Planned[] => {
  const names = streams.map(({ name }) => name)
  for (const name of [...(only ?? []), ...skip]) if (!names.includes(name)) throw new UsageError(unknownStream(name, names))
  const isDisabled = ({ phase }: StreamDefinition): boolean => phase === 'candles' && !settings.fetchOhlcv
  const off = streams.find((stream) => only?.includes(stream.name) && isDisabled(stream))
  if (off) throw new UsageError(`${off.name} is asked for, but FETCH_OHLCV (fetchOhlcv) is false: set it to true or leave ${off.name} out`)

  const wanted = new Set(
    (only ?? names).filter((name) => !skip.includes(name) && !streams.some((stream) => stream.name === name && isDisabled(stream))),
  )
  const neededBy = new Map<string, string>()
  const need = (stream: StreamDefinition | undefined): void => {
    const { of } = stream?.work ?? {}
    if (stream === undefined || of === undefined) return
    if (skip.includes(of))
      throw new UsageError(`${stream.name} needs ${of}, which --skip leaves out: skip ${stream.name} too, or keep ${of}`)
    if (!wanted.has(of)) neededBy.set(of, stream.name)
    wanted.add(of)
    need(streams.find(({ name }) => name === of))
  }
  for (const name of [...wanted]) need(streams.find((stream) => stream.name === name))
  return streams.map((stream) => {
    const by = neededBy.get(stream.name)
    const state = wanted.has(stream.name) ? 'waiting' : isDisabled(stream) ? 'disabled' : 'skipped'
    return { stream, state, ...(by === undefined ? {} : { neededBy: by }) }
  })
}

/** The planned streams of a phase, in order. */
export const phaseOf = (plan: readonly Planned[], phase: Phase): readonly StreamDefinition[] =>
  plan.flatMap(({ stream, state }) => (state === 'waiting' && stream.phase === phase ? [stream] : []))

const unknownStream = (name: string, names: readonly string[]): string => {
  const near = names.find((known) => known.startsWith(name) || known.includes(name) || known.split('-').some((word) => name.includes(word)))
  return `there is no stream ${JSON.stringify(name)}${near === undefined ? '' : `; did you mean ${near}?`} Streams: ${names.join(', ')}`
}
