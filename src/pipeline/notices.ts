import type { Emit } from '../model/event.js'
import type { Planned } from './plan.js'
import type { Run } from './run.js'

/** Warns about hosts that limited the rate or were down, in the name of the first stream that uses the host. */
export const tellOfHosts = (plan: readonly Planned[], { gates, emit }: Run): void => {
  for (const { host, text } of gates.notices()) {
    const asking = plan.find(({ stream, state }) => state === 'waiting' && stream.endpoints.some((endpoint) => endpoint.host === host))
    if (asking) emit({ type: 'noticed', stream: asking.stream.name, text })
  }
}

/** Passes on a warning of the storage, in the name of the first stream that runs. */
export const tellOfStorage = (plan: readonly Planned[], notice: string | undefined, emit: Emit): void => {
  const first = plan.find(({ state }) => state === 'waiting')
  if (first && notice !== undefined) emit({ type: 'noticed', stream: first.stream.name, text: notice })
}
