import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as Streams from '../../../streams/registry.js'
import { createBodies, isEmpty } from '../provider/bodies.js'
import { createBenchTimeline, FIRST_RUN_AT } from '../provider/conditions.js'

/** CPU of one pass over the bodies, for each round. */
export interface ParseCosts {
  readonly read: readonly number[]
  readonly bare: readonly number[]
  readonly megabytes: number
}

const [product = '', rounds = ''] = process.argv.slice(2)
const { streams } = (await import(
  pathToFileURL(join(product, 'dist/streams/registry.js')).href
)) as typeof Streams
const PASSES = 5

/** The filings answers of 64 stocks from both endpoints. */
const bodies = (() => {
  const endpoints = streams.flatMap((stream) => stream.endpoints)
  const bodyOf = createBodies(endpoints)
  const stocks = createBenchTimeline(80)(Date.parse(FIRST_RUN_AT)).stocks.filter(
    (_, rank) => !isEmpty('lodr', rank),
  )
  return (['company_filings', 'lodr'] as const).flatMap((name) => {
    const endpoint = endpoints.find((one) => one.name === name)
    if (endpoint === undefined) throw new Error(`unknown endpoint ${name}`)
    return stocks.map(({ ISIN: isin }, rank) => ({
      text: bodyOf(name, { rank: isEmpty(name, rank) ? rank + 1 : rank, isin }),
      endpoint,
      input: { data: { isin, pg_no: 1, count: 100 } },
    }))
  })
})()

const read = (): number =>
  bodies.reduce(
    (rows, { text, endpoint, input }) => rows + (endpoint.read(text, input) as unknown[]).length,
    0,
  )
const bare = (): number =>
  bodies.reduce((rows, { text }) => rows + (JSON.parse(text) as { data: unknown[] }).data.length, 0)

const measureCpu = (pass: () => number): number => {
  const from = process.cpuUsage()
  for (let count = 0; count < PASSES; count++) pass()
  const { user, system } = process.cpuUsage(from)
  return user + system
}

if (read() !== bare()) throw new Error('the endpoints read another number of rows than JSON.parse')
for (let warm = 0; warm < 3; warm++) for (const pass of [read, bare]) measureCpu(pass)
const costs = Array.from({ length: Number(rounds) }, () => ({
  read: measureCpu(read),
  bare: measureCpu(bare),
}))
const result: ParseCosts = {
  read: costs.map((cost) => cost.read),
  bare: costs.map((cost) => cost.bare),
  megabytes: (bodies.reduce((sum, { text }) => sum + text.length, 0) * PASSES) / 1e6,
}
console.log(JSON.stringify(result))
