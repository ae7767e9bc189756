import type { Emit } from '../model/event.js'
import type { PlannedStream } from './plan.js'
import type { RunServices } from './run.js'

/** Warns about hosts that limited the rate or were down, in the name of the first stream that uses the host. */
export const warnAboutHosts = (plan: readonly PlannedStream[], { limiters, emit }: RunServices): void => {
  for (const { host, text } of limiters.warnings()) {
    const asking = plan.find(({ stream, state }) => state === 'waiting' && stream.endpoints.some((endpoint) => endpoint.host === host))
    if (asking) emit({ type: 'noticed', stream: asking.stream.name, text })
  }
}

/** Passes on a warning of the storage, in the name of the first stream that runs. */
export const warnAboutStorage = (plan: readonly PlannedStream[], warn: string | undefined, emit: Emit): void => {
  const first = plan.find(({ state }) => state === 'waiting')
  if (first && warn !== undefined) emit({ type: 'noticed', stream: first.stream.name, text: warn })
}
