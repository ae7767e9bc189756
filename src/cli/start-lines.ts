import type { RunEvent } from '../model/event.js'
import { formatQuantity } from './format.js'
import type { RunFlags } from './run-flags.js'
import { clean } from './text.js'

/**
 * The lines above the progress: an unfinished run is resumed, a complete run is not up to date, streams run although `--only` does not name
 * them, or a stream retries its failed items.
 */
export const startLines = (event: RunEvent, { run: { only }, retryFailed }: RunFlags): readonly string[] => {
  if (event.type === 'second-pass') return [`${event.stream}: retrying ${formatQuantity(event.items, 'item')}`]
  if (event.type !== 'run-started') return []
  const { run, isContinued, isRemainder, givenUp, changed, streams } = event
  const added = streams.filter(({ name, state }) => state === 'waiting' && only?.includes(name) === false).map(({ name }) => name)
  return [
    ...(isContinued ? [`Resuming run ${run}: only missing items are requested (--fresh starts from scratch).`] : []),
    ...(isRemainder && !isContinued
      ? ['The last run ended with items missing: only those are requested (--fresh downloads everything again).']
      : []),
    ...(givenUp === undefined
      ? []
      : [`Starting from scratch: run ${givenUp} differs (settings, streams, stocks or day); it is discarded once the stocks are known.`]),
    ...(changed === undefined ? [] : [`Downloading again: ${clean(changed)} has changed since the last run.`]),
    ...(added.length > 0 && !retryFailed ? [`Also running what --only needs: ${added.join(', ')}`] : []),
  ]
}
