import type { Context } from '../harness/figure.js'
import type { BenchOptions } from '../options.js'
import {
  formatOthers,
  formatOutages,
  mergeTrouble,
  type OutageRow,
  readTrouble,
  type TroubleRow,
  writeTrouble,
} from '../report/trouble.js'
import { measureEndless429 } from './endless-429.js'
import { measureLargeBodies } from './large-bodies.js'
import { measureOutages } from './outages.js'
import { measureSlowLines } from './slow-lines.js'

export const troubleCommands = ['outages', 'slow-lines', 'endless-429', 'large-bodies'] as const
export type TroubleCommand = (typeof troubleCommands)[number]

/** The file of the rows, and the machine of the measurement. */
interface ResultsFile {
  readonly path: string
  readonly machine: string
}

/**
 * Measures the cost of faults and prints it. With `--write` each row is stored at once, because everything
 * takes an hour.
 */
export const measureTrouble = async (
  command: TroubleCommand,
  options: BenchOptions,
  { context, path, machine }: ResultsFile & { readonly context: Context },
): Promise<void> => {
  const rows = { outages: [] as OutageRow[], others: [] as TroubleRow[] }
  const write = (): void => storeRows(options.write, rows, { path, machine })
  const onOutage = (row: OutageRow): void => {
    rows.outages.push(row)
    write()
  }
  const onOther = (row: TroubleRow): void => {
    rows.others.push(row)
    write()
  }
  await measure(command, options, { context, onOutage, onOther })
  const before = options.write === 'before' ? { outages: [], others: [] } : readTrouble(path).before
  const tables =
    command === 'outages'
      ? formatOutages(rows.outages, before.outages)
      : formatOthers(rows.others, before.others)
  console.log(`${machine}\n\n${tables}`)
}

interface Receivers {
  readonly context: Context
  readonly onOutage: (row: OutageRow) => void
  readonly onOther: (row: TroubleRow) => void
}

const measure = (
  command: TroubleCommand,
  { trouble }: BenchOptions,
  { context, onOutage, onOther }: Receivers,
): Promise<void> => {
  const stocks = trouble.stocks ?? (command === 'outages' && !context.quick ? 2_775 : 60)
  switch (command) {
    case 'outages':
      return measureOutages(context, { ...trouble, stocks }, onOutage)
    case 'slow-lines':
      return measureSlowLines(context, { stocks, megabits: trouble.megabits }, onOther)
    case 'endless-429':
      return measureEndless429(context, { stocks, endpoints: trouble.endpoints }, onOther)
    case 'large-bodies':
      return measureLargeBodies(context, { stocks: Math.max(stocks, 100) }, onOther)
  }
}

const storeRows = (
  write: BenchOptions['write'],
  rows: Parameters<typeof mergeTrouble>[1],
  { path, machine }: ResultsFile,
): void => {
  const old = readTrouble(path)
  if (write === 'now') writeTrouble(path, { ...old, machine, ...mergeTrouble(old, rows) })
  if (write === 'before') writeTrouble(path, { ...old, before: mergeTrouble(old.before, rows) })
}
