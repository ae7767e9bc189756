import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Context, type Figure, isMet } from './harness/figure.js'
import { findBuild } from './harness/reference.js'
import { measurements } from './measurements/index.js'
import { measureScale } from './measurements/scale.js'
import { measurePaths, measureTurns, readBudget } from './measurements/turns.js'
import { type BenchOptions, parseOptions, USAGE } from './options.js'
import { drawChart } from './report/chart.js'
import { addMachine, getName, mergeByKey, readResults, replaceScale, writeResults } from './report/results.js'
import { formatScaleTable, formatTable } from './report/table.js'
import { measureTrouble } from './trouble/index.js'

// The compiled file is two folders deeper than the source.
const toBenchFile = (name: string): string =>
  fileURLToPath(new URL(`../../../test/bench/${name}`, import.meta.url))
const RESULTS = toBenchFile('results.json')
const TROUBLE = toBenchFile('outages.json')
const BUDGET = toBenchFile('budget.json')
const CHART = toBenchFile('scale.svg')

const describeMachine = (): string => {
  const all = cpus()
  return `${all.length} × ${all[0]?.model.trim() ?? 'CPU'}, Node ${process.versions.node}, ${process.platform}, ${new Date().toISOString().slice(0, 10)}`
}

const measureAll = async (
  { only, quick, write }: BenchOptions,
  contextFor: (name: string) => Context,
): Promise<void> => {
  const unknown = only?.find((name) => !measurements.some((measurement) => measurement.name === name))
  if (unknown !== undefined) throw new Error(`unknown measurement ${unknown}; --list shows all`)
  const results = readResults(RESULTS)
  const figures: Figure[] = []
  for (const { name, summary, run } of measurements.filter(
    (measurement) => only?.includes(measurement.name) ?? true,
  )) {
    console.error(`${name}: ${summary}`)
    figures.push(...(await run(contextFor(name))))
  }
  console.log(
    `${describeMachine()}\n\n${formatTable(figures, quick || write === 'before' ? [] : results.before)}`,
  )
  if (write === 'now')
    writeResults(RESULTS, {
      ...results,
      figures: mergeByKey(results.figures, addMachine(describeMachine(), figures), getName),
    })
  if (write === 'before')
    writeResults(RESULTS, { ...results, before: mergeByKey(results.before, figures, getName) })
}

const measureSeries = async (
  { write, factors, latenciesMs }: BenchOptions,
  context: Context,
): Promise<void> => {
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
  const scratch = mkdtempSync(
    join(
      options.command === 'turns' || options.command === 'budget' ? findTmpfs() : tmpdir(),
      'scripstream-bench-',
    ),
  )
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
  const { command } = options
  if (command === undefined) return measureAll(options, contextFor)
  const context = contextFor(command)
  if (command === 'scale') return measureSeries(options, context)
  if (command === 'turns' || command === 'budget') return measureBuilds(command, options, context)
  return measureTrouble(command, options, { context, path: TROUBLE, machine: describeMachine() })
}

/** Compares the build with another one and with the floor program. Fails above a limit only for `budget`. */
const measureBuilds = async (
  command: 'turns' | 'budget',
  options: BenchOptions,
  context: Context,
): Promise<void> => {
  const isBudget = command === 'budget'
  const budget = readBudget(BUDGET)
  const against = findOtherBuild(
    options.against ?? budget.reference,
    context,
    isBudget && options.against === undefined,
  )
  const { stocks = context.quick ? 80 : isBudget ? 150 : 2_775, latencyMs } = options.trouble
  const figures = await measureTurns(context, { stocks, latencyMs, against, budget })
  console.log(`${describeMachine()}\n\n${formatTable(figures)}`)
  const builds = {
    'this build': context.product,
    ...(against === undefined ? {} : { 'the other build': against }),
  }
  if (!isBudget) console.log(['', ...(await measurePaths(Object.keys(budget.path), builds))].join('\n'))
  const missed = figures.filter((figure) => isMet(figure) === false).map(({ name }) => name)
  if (isBudget && missed.length > 0) throw new Error(`above the limit: ${missed.join('; ')}`)
}

const findOtherBuild = (name: string, { scratch, say }: Context, isOptional: boolean): string | undefined => {
  try {
    return findBuild(name, process.cwd(), join(scratch, 'other'))
  } catch (error) {
    if (!isOptional) throw error
    say(`${(error as Error).message}; nothing is compared with it`)
    return undefined
  }
}

/** A folder in memory: on a disk, the deletion of earlier outputs costs system time. */
const findTmpfs = (): string => (existsSync('/dev/shm') ? '/dev/shm' : tmpdir())

await main().catch((error: unknown) => {
  console.error(`bench: ${error instanceof Error ? error.message : error}`)
  process.exitCode = 1
})
