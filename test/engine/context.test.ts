import { AsyncLocalStorage } from 'node:async_hooks'
import { catchError, defer, EMPTY, finalize, lastValueFrom, Subject, tap, timer } from 'rxjs'
import { Agent } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { type CollectorOptions, createCollector } from '../../src/collector.js'
import type { StreamDefinition as AnyStream } from '../../src/engine/define-stream.js'
import type { Log, Telemetry } from '../../src/engine/event-bus.js'
import type { Storage } from '../../src/engine/storage.js'
import { httpTransport } from '../../src/http/connections.js'
import type { Transport } from '../../src/http/transport.js'
import { keepContext, runSoon } from '../../src/model/context.js'
import { type Fault, type SimulatorOptions, serveSimulator } from '../../src/simulator/index.js'
import { marketNews } from '../../streams/market-news.js'
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

const simulate = async (options: Partial<SimulatorOptions> = {}) => {
  const endpoints = streams.flatMap((stream) => stream.endpoints)
  const simulator = await serveSimulator({ endpoints, stocks: STOCKS, ...options })
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

/** Notes who is there when the work of a stream is called, and when it emits. */
const watchWork = (work: AnyStream['work'], { note }: Notes): AnyStream['work'] => ({
  ...work,
  each: (item, tools, file) => {
    note('work', 'any')
    return work.each(item, tools, file).pipe(tap(() => note('result', 'any')))
  },
})

/** A storage of each run's own, which notes who is there. */
const watchStorage = ({ note }: Notes): Storage => ({
  ...memory(),
  openSession: (request) =>
    memory()
      .openSession(request)
      .pipe(tap(() => note('session', 'any'))),
  storeDocument: (...given) => {
    note('document', 'any')
    return memory().storeDocument(...given)
  },
  open: (output, context) => (item$) =>
    memory().open(output, context)(item$.pipe(tap({ next: () => note('sink', 'any') }))),
})

const HOSTS: Readonly<Record<string, readonly Fault[]>> = {
  'that answers': [],
  'that fails at times': [{ on: 'news', mode: 'reset', rate: 0.2, times: 1 }],
}

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

  for (const [title, faults] of Object.entries(HOSTS))
    it(`a stream and a storage of the app, of a host ${title}`, async () => {
      const simulator = await simulate({ faults })
      const calls = createNotes()
      const own = (streams as readonly AnyStream[]).map((stream) =>
        stream.name === 'market-news' ? { ...stream, work: watchWork(stream.work, calls) } : stream,
      )
      const collector = createCollector({
        settings: simulator.settings,
        streams: own,
        storage: watchStorage(calls),
        random: () => 0,
      })
      const run = (name: string) =>
        user.run(name, () => lastValueFrom(collector.open({ only: ['market-news'] }).report$))
      await Promise.all(USERS.map(run))
      const expected = { work: STOCKS, result: STOCKS, sink: STOCKS + 2, session: 1, document: 1 }
      for (const [call, times] of Object.entries(expected))
        for (const name of USERS)
          expect(calls.count(call, `any as ${name}`), `${call} of ${name}`).toBe(times)
    })

  it('a stream of the app that waits for the list of another call', async () => {
    const simulator = await simulate()
    const calls = createNotes()
    const own = { ...(marketNews as AnyStream), work: watchWork(marketNews.work as AnyStream['work'], calls) }
    const collector = createCollector({
      settings: simulator.settings,
      streams: streams.map((stream) => (stream.name === own.name ? own : stream)),
    })
    const users = USERS.map((name) =>
      user.run(name, () => lastValueFrom(collector.stream('market-news' as never))),
    )
    await Promise.all(users)
    for (const name of USERS)
      for (const call of ['work', 'result'])
        expect(calls.count(call, `any as ${name}`), `${call} of ${name}`).toBe(STOCKS)
  })

  it('a request that fails has ended before it is sent again', () => {
    const [calls, failure$]: [string[], Subject<never>] = [[], new Subject()]
    const again$ = defer(() => {
      calls.push('again')
      return EMPTY
    })
    failure$
      .pipe(
        finalize(() => calls.push('end')),
        keepContext(),
        catchError(() => again$),
      )
      .subscribe()
    failure$.error(new Error('failed'))
    expect(calls).toEqual(['end', 'again'])
  })

  it('a task that is left for the end of the turn', async () => {
    const seen: (string | undefined)[] = []
    for (const name of USERS) user.run(name, () => runSoon(() => seen.push(user.getStore())))
    await Promise.resolve().then(() => undefined)
    expect(seen).toEqual(USERS)
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
