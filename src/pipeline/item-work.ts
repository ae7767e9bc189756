import { defer, EMPTY, type Observable } from 'rxjs'
import { createAsk } from '../http/ask.js'
import type { Item, ItemOutcome } from '../model/outcome.js'
import type { WorkerSlot } from '../operators/merge-map-pool.js'
import { toItemOutcome } from '../operators/to-item-outcome.js'
import type { StreamDefinition, Tools } from './define-stream.js'
import { toFilePath } from './output.js'
import type { RunServices } from './run.js'

/** The services that the work of an item needs, in this process or in a worker of a fleet. */
export interface WorkerContext
  extends Pick<
    RunServices,
    'settings' | 'asOf' | 'accept' | 'transport' | 'limiters' | 'emit' | 'drift' | 'watch' | 'clock' | 'random' | 'shared' | 'ended'
  > {
  readonly storage: Pick<RunServices['storage'], 'stored'>
}

/** Creates the work of a stream's items: each ends as one outcome. Only a failure that must stop the run is an error. */
export const createItemWork = (
  stream: StreamDefinition,
  site: WorkerContext,
): ((item: Item, slot: WorkerSlot) => Observable<ItemOutcome>) => {
  const tools = createTools(stream, site)
  const asking = createAsk({
    transport: site.transport,
    settings: site.settings,
    stream: stream.name,
    limiters: site.limiters,
    timeoutMs: site.settings.timeoutsMs[stream.name] ?? stream.timeoutMs,
    isList: stream.work.of === undefined,
    random: site.random,
    clock: site.clock,
    drift: site.drift.forStream(stream.name),
    onRequestEvent: (type) => site.emit({ type, stream: stream.name }),
    watch: site.watch?.(stream.name),
  })
  const [output] = stream.outputs
  return (item, slot) => {
    const file = toFilePath(output, site.settings.exchange, item)
    return defer(() => stream.work.each(item, { ...tools, ask: asking(slot, item.key) }, file)).pipe(toItemOutcome(item, stream.name))
  }
}

const createTools = (stream: StreamDefinition, site: WorkerContext): Omit<Tools, 'ask'> => ({
  stored: site.storage.stored,
  settings: site.settings,
  asOf: site.asOf,
  accepts: (code) => site.accept.includes(code),
  shared: site.shared,
  after: (name) => {
    if (!stream.after?.includes(name))
      throw new Error(`${stream.name} waits for ${name} without declaring it; add after: ['${name}'] to its definition`)
    return site.ended.get(name) ?? EMPTY
  },
  warn: (text) => site.emit({ type: 'noticed', stream: stream.name, text }),
})
