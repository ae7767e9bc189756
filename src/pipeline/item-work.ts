import { defer, EMPTY, type Observable } from 'rxjs'
import type { Item, Settled } from '../model/outcome.js'
import { settle } from '../operators/settle.js'
import type { Slot } from '../operators/slot.js'
import { createAsk } from '../provider/ask.js'
import type { StreamDefinition, Tools } from './define-stream.js'
import { fileOf } from './output.js'
import type { Run } from './run.js'

/** The services that the work of an item needs, in this process or in a worker of a fleet. */
export interface Site
  extends Pick<
    Run,
    'settings' | 'asOf' | 'accept' | 'transport' | 'gates' | 'emit' | 'drift' | 'watch' | 'clock' | 'random' | 'shared' | 'ended'
  > {
  readonly storage: Pick<Run['storage'], 'stored'>
}

/** Creates the work of a stream's items: each ends as one outcome. Only a failure that must stop the run is an error. */
export const itemWork = (stream: StreamDefinition, site: Site): ((item: Item, slot: Slot) => Observable<Settled>) => {
  const tools = toolsOf(stream, site)
  const asking = createAsk({
    transport: site.transport,
    settings: site.settings,
    gates: site.gates,
    timeoutMs: site.settings.timeoutsMs[stream.name] ?? stream.timeoutMs,
    isList: stream.work.of === undefined,
    random: site.random,
    clock: site.clock,
    drift: site.drift.ofStream(stream.name),
    tell: (type) => site.emit({ type, stream: stream.name }),
    watch: site.watch?.(stream.name),
  })
  const [output] = stream.outputs
  return (item, slot) => {
    const file = fileOf(output, site.settings.exchange, item)
    return defer(() => stream.work.each(item, { ...tools, ask: asking(slot, item.key) }, file)).pipe(settle(item))
  }
}

const toolsOf = (stream: StreamDefinition, site: Site): Omit<Tools, 'ask'> => ({
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
  notice: (text) => site.emit({ type: 'noticed', stream: stream.name, text }),
})
