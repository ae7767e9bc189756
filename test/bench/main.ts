import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Context, Figure } from './harness/figure.js'
import { measurements } from './measurements/index.js'
import { measureScale } from './measurements/scale.js'
import { measureTurns } from './measurements/turns.js'
import { type BenchOptions, parseOptions, USAGE } from './options.js'
import { drawChart } from './report/chart.js'
import { addMachine, getName, mergeByKey, readResults, replaceScale, writeResults } from './report/results.js'
import { formatScaleTable, formatTable } from './report/table.js'
import { measureTrouble } from './trouble/index.js'

// The compiled file is two folders deeper than the source.
const toBenchFile = (name: string): string => fileURLToPath(new URL(`../../../test/bench/${name}`, import.meta.url))
const RESULTS = toBenchFile('results.json')
const TROUBLE = toBenchFile('outages.json')
const CHART = toBenchFile('scale.svg')

const describeMachine = (): string => {
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
  console.log(`${describeMachine()}\n\n${formatTable(figures, quick || write === 'before' ? [] : results.before)}`)
  if (write === 'now')
    writeResults(RESULTS, { ...results, figures: mergeByKey(results.figures, addMachine(describeMachine(), figures), getName) })
  if (write === 'before') writeResults(RESULTS, { ...results, before: mergeByKey(results.before, figures, getName) })
}

const measureSeries = async ({ write, factors, latenciesMs }: BenchOptions, context: Context): Promise<void> => {
  const points = await measureScale(context, { factors, latenciesMs })
  console.log(`${describeMachine()}\n\n${formatScaleTable(points)}`)
  if (write === undefined) return
  const results = replaceScale(readResults(RESULTS), points, describeMachine())
  writeResults(RESULTS, results)
  writeFileSync(CHART, drawChart(results.scale))
}

const main = async (): Promise<void> => {
  const options = parseOptions(process.argv.slice(2))
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
  if (command !== 'turns') return measureTrouble(command, options, { context, path: TROUBLE, machine: describeMachine() })
  const { stocks = context.quick ? 80 : 2_775, latencyMs } = trouble
  console.log(`${describeMachine()}\n\n${formatTable(await measureTurns(context, { stocks, latencyMs, against }))}`)
}

await main().catch((error: unknown) => {
  console.error(`bench: ${error instanceof Error ? error.message : error}`)
  process.exitCode = 1
})
