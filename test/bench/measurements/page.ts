import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type Bench, runInTurns, withBench } from '../harness/bench.js'
import { failOn } from '../harness/check.js'
import type { Measurement } from '../harness/figure.js'
import { fixed } from '../provider/conditions.js'

const LATENCY = fixed(20)

/**
 * Short runs: loading the page then counts more than it does in a whole one, and many rounds fit into the
 * same time.
 */
const STOCKS = 925
const ROUNDS_PER_RUN = 3

/**
 * Runs in turns: some alone, some whose page is served to a reader of its events. A machine that becomes
 * slower or faster changes the CPU time of a run by more than a reader does: a round is four runs whose order
 * makes up for that.
 */
export const page: Measurement = {
  name: 'page',
  summary: 'a run with a reader of its page: CPU ÷ that of a run alone',
  run: (context) => {
    const stocks = context.quick ? 60 : STOCKS
    const rounds = context.quick ? 1 : ROUNDS_PER_RUN * context.runs
    return withBench(context, { stocks }, async ({ run }) => {
      const [alone, read] = [() => run({ latency: LATENCY }), () => runWithReader(run)]
      const { first, second, third, last } = await runInTurns(rounds, {
        first: alone,
        second: read,
        third: read,
        last: alone,
      })
      const sum = (round: number, ...turns: (typeof first)[]): number =>
        turns.reduce((total, runs) => total + (runs[round]?.cpuMicros ?? 0), 0)
      const values = first.map((_, round) => sum(round, second, third) / sum(round, first, last))
      const remark = `${stocks} stocks, fixed 20 ms, two runs each`
      return [
        { name: 'run with a reader of its page ÷ run alone: CPU', unit: '×', values, goal: 1.03, remark },
      ]
    })
  },
}

const runWithReader = async (run: Bench['run']): ReturnType<Bench['run']> => {
  const port = await findFreePort()
  const ending = new AbortController()
  const reading = countChunks(`http://127.0.0.1:${port}/api/live`, ending.signal)
  const done = await run({ latency: LATENCY, more: ['--serve', String(port)] }).finally(() => ending.abort())
  const chunks = await reading
  failOn(chunks > 1 ? [] : [`the reader got ${chunks} events`], 'the page')
  return done
}

const findFreePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Reads until the run ends the connection; before that, the server may not listen yet. */
const countChunks = async (address: string, signal: AbortSignal): Promise<number> => {
  let chunks = 0
  while (!signal.aborted && chunks === 0) {
    try {
      const { body } = await fetch(address, { signal })
      for await (const _ of body ?? []) chunks += 1
    } catch {
      await pause(20)
    }
  }
  return chunks
}
