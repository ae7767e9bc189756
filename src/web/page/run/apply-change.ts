import type { LiveChange, LiveRunState } from '../../api/live.js'

/** The run after a change: streams that it does not name stay as they are. */
export const applyChange = (run: LiveRunState, { summary, streams }: LiveChange): LiveRunState => {
  const changed = new Map(streams.map((stream) => [stream.name, stream]))
  return { ...summary, phases: run.phases, streams: run.streams.map((stream) => changed.get(stream.name) ?? stream) }
}
