import type { Observable } from 'rxjs'
import { describeWrongSymbol } from '../../src/market/symbols.js'
import type { RunEvent } from '../../src/model/event.js'
import type { Context } from './marbles.js'

/** A short text for an event: `item-finished news A success`. */
const describeEvent = (event: RunEvent): string => {
  switch (event.type) {
    case 'run-started':
      return `run-started ${event.streams.map(({ name, state }) => `${name}:${state}`).join(' ')}`
    case 'master-read':
      return `master-read ${event.stocks}`
    case 'items-known':
      return `items-known ${event.stream} ${event.total}`
    case 'item-finished':
      return `item-finished ${event.stream} ${event.item} ${event.status}`
    case 'stream-finished':
      return `stream-finished ${event.stream} ${event.outcome}`
    case 'items-deferred':
    case 'second-pass':
      return `${event.type} ${event.stream} ${event.items}`
    case 'warning':
      return `warning ${event.stream}: ${event.text}`
    case 'note':
      return `note ${event.text}`
    case 'host-paused':
      return `host-paused ${event.hosts.join(' ')} ${event.why} ${event.until - event.at}`
    case 'host-resumed':
      return `host-resumed ${event.hosts.join(' ')}`
    case 'step':
      return `step ${event.step}`
    case 'fleet':
      return `fleet ${event.fleet.workers.map(({ name }) => name).join(' ')}`
    case 'wrong-symbols':
      return `wrong-symbols ${event.symbols.map(describeWrongSymbol).join(', ')}`
    case 'run-finished':
      return `run-finished ${event.report.outcome}`
    default:
      return `${event.type} ${event.stream}`
  }
}

/** Subscribes to a run; the list grows with its events and their frames as virtual time passes. */
export const recordEvents = (m: Context, event$: Observable<RunEvent>): string[] => {
  const lines: string[] = []
  const log = (text: string): void => void lines.push(`${m.scheduler.now()} ${text}`)
  event$.subscribe({
    next: (event) => log(describeEvent(event)),
    error: (error: unknown) => log(`ERROR ${error}`),
    complete: () => log('COMPLETE'),
  })
  return lines
}
