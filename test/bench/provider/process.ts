import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ProviderControl, ProviderOptions, ProviderReady } from './provider.js'
import type { ProviderStats } from './stats.js'

/** A provider in a separate process. */
export interface Provider extends ProviderReady {
  readonly stocks: number
  /** Changes the provider, one call at a time. */
  control(change: ProviderControl): Promise<ProviderStats>
  stats(): Promise<ProviderStats>
  close(): Promise<void>
}

const script = fileURLToPath(new URL('./provider.js', import.meta.url))

export const startProvider = async (options: ProviderOptions): Promise<Provider> => {
  const child = fork(script, [JSON.stringify(options)])
  const exited = once(child, 'exit')
  const receive = async <T>(): Promise<T> => {
    const [message] = await Promise.race([
      once(child, 'message'),
      exited.then(() => Promise.reject(new Error('the provider has ended'))),
    ])
    return message as T
  }
  const control = (change: ProviderControl): Promise<ProviderStats> => {
    child.send(change)
    return receive()
  }
  return {
    ...(await receive<ProviderReady>()),
    stocks: options.stocks,
    control,
    stats: () => control({}),
    close: async () => {
      child.disconnect()
      await exited
    },
  }
}
