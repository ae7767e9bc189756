import type { Planned } from './plan.js'
import type { Run } from './run.js'

/** Tells of the hosts that limited the rate or were down, each by the first stream that asks there. */
export const tellOfHosts = (plan: readonly Planned[], { gates, emit }: Run): void => {
  for (const { host, text } of gates.notices()) {
    const asking = plan.find(({ stream, state }) => state === 'waiting' && stream.endpoints.some((endpoint) => endpoint.host === host))
    if (asking) emit({ type: 'noticed', stream: asking.stream.name, text })
  }
}
