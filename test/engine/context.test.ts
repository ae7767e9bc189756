import { AsyncLocalStorage } from 'node:async_hooks'
import { lastValueFrom, timer } from 'rxjs'
import { Agent } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { type CollectorOptions, createCollector } from '../../src/collector.js'
import type { Log, Telemetry } from '../../src/engine/event-bus.js'
import { httpTransport } from '../../src/http/connections.js'
import type { Transport } from '../../src/http/transport.js'
import { serveSimulator } from '../../src/simulator/index.js'
import { streams } from '../../streams/registry.js'

const USERS = ['ann', 'bob', 'cem']
const STOCKS = 30
const user = new AsyncLocalStorage<string>()

/** Notes who is there at each call, by the call. */
const createNotes = () => {
  const notes = new Map<string, Map<string, number>>()
  const note = (call: string, expected: string): void => {
    const found = `${expected} as ${user.getStore()}`
    const counts = notes.get(call) ?? new Map<string, number>()
    notes.set(call, counts.set(found, (counts.get(found) ?? 0) + 1))
  }
  const wrong = (): readonly string[] =>
    [...notes].flatMap(([call, counts]) =>
      [...counts.keys()].filter((key) => new Set(key.split(' as ')).size > 1).map((key) => `${call}: ${key}`),
    )
  return { note, wrong, count: (call: string, key: string) => notes.get(call)?.get(key) ?? 0 }
}

type Notes = ReturnType<typeof createNotes>

/** Log lines and telemetry of a run know their user by its first call. */
const createOnlookers = ({ note }: Notes): { readonly log: Log; readonly telemetry: Telemetry } => {
  const owners = new Map<unknown, string>()
  const write = ({ run }: { readonly run?: string }): void => {
    const owner = owners.get(run) ?? `${user.getStore()}`
    owners.set(run, owner)
    note('log', owner)
  }
  const telemetry: Telemetry = () => {
    const owner = `${user.getStore()}`
    return {
      event: () => note('event', owner),
      request: () => note('request', owner),
      begin: () => {
        note('begin', owner)
        return {
          run: (send) => {
            note('run', owner)
            send()
          },
          end: () => note('end', owner),
        }
      },
      over: () => note('over', owner),
    }
  }
  return { log: { debug: write, info: write, warn: write, error: write } as Log, telemetry }
}

const simulate = async () => {
  const endpoints = streams.flatMap((stream) => stream.endpoints)
  const simulator = await serveSimulator({ endpoints, stocks: STOCKS })
  onTestFinished(() => simulator.close())
  return simulator
}

const collect = async (options: Partial<CollectorOptions>, workers?: number) => {
  const simulator = await simulate()
  const settings = { ...simulator.settings, ...(workers ? { workers: { 'market-news': workers } } : {}) }
  return createCollector({ storage: memory(), ...options, settings })
}

type OwnCollector = Awaited<ReturnType<typeof collect>>

const watchStream = (collector: OwnCollector, name: string, { note }: Notes): Promise<void> =>
  new Promise((resolve, reject) => {
    const consume = async (): Promise<void> => {
      note('consume', name)
      await lastValueFrom(timer(1))
    }
    collector.stream('market-news', { consume }).subscribe({
      next: () => note('next', name),
      error: reject,
      complete: () => {
        note('complete', name)
        resolve()
      },
    })
  })

const watchRun = (collector: OwnCollector, name: string, { note }: Notes): Promise<void> =>
  new Promise((resolve, reject) => {
    const run = collector.open({ only: ['market-news'], consume: async () => note('consume', name) })
    run.item$.subscribe(() => note('next', name))
    run.event$.subscribe({ error: reject })
    run.report$.subscribe({
      complete: () => {
        note('complete', name)
        resolve()
      },
    })
  })

describe('what a run calls sees the AsyncLocalStorage of its own subscriber:', () => {
  const cases: Readonly<Record<string, { readonly workers?: number; readonly listMaxAgeMs?: number }>> = {
    'with the shared limiters and list': {},
    'with one worker': { workers: 1 },
    'without a shared list': { listMaxAgeMs: 0 },
  }
  for (const [title, { workers, ...options }] of Object.entries(cases))
    for (const [use, watch] of Object.entries({ stream: watchStream, open: watchRun }))
      it(`three users at once, by ${use}, ${title}`, async () => {
        const notes = createNotes()
        const collector = await collect({ ...options, ...createOnlookers(notes) }, workers)
        const all = USERS.map((name) => user.run(name, () => watch(collector, name, notes)))
        await Promise.all(all)
        expect(notes.wrong()).toEqual([])
        for (const name of USERS) {
          for (const call of ['next', 'consume'])
            expect(notes.count(call, `${name} as ${name}`), call).toBe(STOCKS)
          for (const call of ['complete', 'over'])
            expect(notes.count(call, `${name} as ${name}`), call).toBe(1)
          for (const call of ['log', 'event', 'request', 'begin', 'run', 'end'])
            expect(notes.count(call, `${name} as ${name}`), call).toBeGreaterThan(0)
        }
      })

  it('a transport of the app, without telemetry', async () => {
    const notes = createNotes()
    const simulator = await simulate()
    const dispatcher = new Agent()
    onTestFinished(() => dispatcher.close())
    const send = httpTransport(dispatcher, simulator.settings)
    const transport: Transport = (request) => {
      sent.push(`${user.getStore()}`)
      return send(request)
    }
    const sent: string[] = []
    const collector = createCollector({ settings: simulator.settings, transport, listMaxAgeMs: 0 })
    await Promise.all(USERS.map((name) => user.run(name, () => watchStream(collector, name, notes))))
    expect(USERS.map((name) => sent.filter((one) => one === name).length)).toEqual([31, 31, 31])
  })

  it('an error', async () => {
    const collector = createCollector({ settings: { urls: { static: 'http://127.0.0.1:9' } } })
    const found = USERS.map((name) =>
      user.run(
        name,
        () =>
          new Promise((resolve) =>
            collector.stream('new' as 'market-news').subscribe({ error: () => resolve(user.getStore()) }),
          ),
      ),
    )
    expect(await Promise.all(found)).toEqual(USERS)
  })
})
