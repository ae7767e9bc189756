import type { Emit } from '../model/event.js'
import type { Planned } from './plan.js'
import type { Run } from './run.js'

/** Tells of the hosts that limited the rate or were down, each by the first stream that asks there. */
export const tellOfHosts = (plan: readonly Planned[], { gates, emit }: Run): void => {
  for (const { host, text } of gates.notices()) {
    const asking = plan.find(({ stream, state }) => state === 'waiting' && stream.endpoints.some((endpoint) => endpoint.host === host))
    if (asking) emit({ type: 'noticed', stream: asking.stream.name, text })
  }
}

/** Tells of the place of storage, by the first stream that runs. */
export const tellOfStorage = (plan: readonly Planned[], notice: string | undefined, emit: Emit): void => {
  const first = plan.find(({ state }) => state === 'waiting')
  if (first && notice !== undefined) emit({ type: 'noticed', stream: first.stream.name, text: notice })
}
