import type { Measurement } from '../harness/figure.js'
import { candles } from './candles.js'
import { cold } from './cold.js'
import { incremental, rerun } from './daily-run.js'
import { exporting } from './exporting.js'
import { fleet } from './fleet.js'
import { fleetMany } from './fleet-many.js'
import { full } from './full.js'
import { memory } from './memory.js'
import { operatorPrices } from './operator-prices.js'
import { operators } from './operators.js'
import { page } from './page.js'
import { parse } from './parse.js'
import { far, plain } from './plain.js'

/** Every measurement, in the order of the table. */
export const measurements: readonly Measurement[] = [
  full,
  candles,
  operators,
  operatorPrices,
  parse,
  plain,
  far,
  incremental,
  rerun,
  exporting,
  page,
  cold,
  memory,
  fleet,
  fleetMany,
]
