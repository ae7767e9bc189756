import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { ProviderControl, ProviderOptions, ProviderReady } from './provider.js'
import type { ProviderStats } from './request-counter.js'

/** A provider in a separate process. */
export interface Provider {
  readonly stocks: number
  readonly port: number
  readonly env: ProviderReady['env']
  readonly startMs: number
  control(change: ProviderControl): Promise<void>
  stats(): Promise<ProviderStats>
  close(): Promise<void>
}

const script = fileURLToPath(new URL('./provider.js', import.meta.url))

export const startProvider = async (options: ProviderOptions): Promise<Provider> => {
  const from = performance.now()
  const child = spawn(process.execPath, [script, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [line] = (await Promise.race([
    once(createInterface(child.stdout), 'line'),
    once(child, 'exit').then(() => ['']),
  ])) as [string]
  if (line === '') throw new Error('the provider did not start')
  const { control, port, env } = JSON.parse(line) as ProviderReady
  return {
    stocks: options.stocks,
    port,
    env,
    startMs: performance.now() - from,
    control: async (change) => {
      const { status } = await fetch(`${control}/__control`, { method: 'POST', body: JSON.stringify(change) })
      if (status !== 200) throw new Error(`the provider rejected ${JSON.stringify(change)}`)
    },
    stats: async () => (await (await fetch(`${control}/__stats`)).json()) as ProviderStats,
    close: async () => {
      const exited = once(child, 'exit')
      child.stdin.end()
      await exited
    },
  }
}
