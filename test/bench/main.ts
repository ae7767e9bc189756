import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Context, Figure } from './harness/figure.js'
import { measurements } from './measurements/index.js'
import { measureScale } from './measurements/scale.js'
import { measureTurns } from './measurements/turns.js'
import { type BenchOptions, optionsOf, USAGE } from './options.js'
import { chartOf } from './report/chart.js'
import { byName, merged, on, readResults, withScale, writeResults } from './report/results.js'
import { scaleTableOf, tableOf } from './report/table.js'
import { measureTrouble } from './trouble/index.js'

// The compiled file is two folders deeper than the source.
const kept = (name: string): string => fileURLToPath(new URL(`../../../test/bench/${name}`, import.meta.url))
const RESULTS = kept('results.json')
const TROUBLE = kept('outages.json')
const CHART = kept('scale.svg')

const machine = (): string => {
  const all = cpus()
  return `${all.length} × ${all[0]?.model.trim() ?? 'CPU'}, Node ${process.versions.node}, ${process.platform}, ${new Date().toISOString().slice(0, 10)}`
}

const measureAll = async ({ only, quick, write }: BenchOptions, contextFor: (name: string) => Context): Promise<void> => {
  const unknown = only?.find((name) => !measurements.some((measurement) => measurement.name === name))
  if (unknown !== undefined) throw new Error(`unknown measurement ${unknown}; --list shows all`)
  const results = readResults(RESULTS)
  const figures: Figure[] = []
  for (const { name, summary, run } of measurements.filter((measurement) => only?.includes(measurement.name) ?? true)) {
    console.error(`${name}: ${summary}`)
    figures.push(...(await run(contextFor(name))))
  }
  console.log(`${machine()}\n\n${tableOf(figures, quick || write === 'before' ? [] : results.before)}`)
  if (write === 'now') writeResults(RESULTS, { ...results, figures: merged(results.figures, on(machine(), figures), byName) })
  if (write === 'before') writeResults(RESULTS, { ...results, before: merged(results.before, figures, byName) })
}

const measureSeries = async ({ write, factors, latenciesMs }: BenchOptions, context: Context): Promise<void> => {
  const points = await measureScale(context, { factors, latenciesMs })
  console.log(`${machine()}\n\n${scaleTableOf(points)}`)
  if (write === undefined) return
  const results = withScale(readResults(RESULTS), points, machine())
  writeResults(RESULTS, results)
  writeFileSync(CHART, chartOf(results.scale))
}

const main = async (): Promise<void> => {
  const options = optionsOf(process.argv.slice(2))
  if (options.help) return console.log(USAGE)
  if (options.list) {
    for (const { name, summary } of measurements) console.log(`${name.padEnd(12)} ${summary}`)
    return
  }
  const scratch = mkdtempSync(join(tmpdir(), 'scripstream-bench-'))
  const { quick, runs, product } = options
  const contextFor = (name: string): Context => ({
    quick,
    runs,
    product,
    scratch: join(scratch, name),
    say: (text) => console.error(`  ${text}`),
  })
  // Outputs are large: always remove them.
  process.on('exit', () => rmSync(scratch, { recursive: true, force: true }))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))
  await measure(options, contextFor)
}

const measure = async (options: BenchOptions, contextFor: (name: string) => Context): Promise<void> => {
  const { command, against, trouble } = options
  if (command === undefined) return measureAll(options, contextFor)
  const context = contextFor(command)
  if (command === 'scale') return measureSeries(options, context)
  if (command !== 'turns') return measureTrouble(command, options, { context, path: TROUBLE, machine: machine() })
  const { stocks = context.quick ? 80 : 2_775, latencyMs } = trouble
  console.log(`${machine()}\n\n${tableOf(await measureTurns(context, { stocks, latencyMs, against }))}`)
}

await main().catch((error: unknown) => {
  console.error(`bench: ${error instanceof Error ? error.message : error}`)
  process.exitCode = 1
})
