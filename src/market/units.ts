import { type Row, readText } from '../model/row.js'
import { median } from './candle-checks.js'
import { thresholds } from './refusal-policy.js'

/**
 * Which figure of a list seems to have another unit than in the stored master list: its median ratio over the stocks in both is too far
 * from 1. `undefined` if none does. A figure that few stocks have in both lists decides nothing.
 */
export const findUnitChange = (stored: readonly Row[], rows: readonly Row[]): string | undefined => {
  const before = new Map(stored.map((row) => [readText(row.Sym), row]))
  for (const [field, { name, most }] of Object.entries(thresholds.units.figures)) {
    const ratios = rows.flatMap((row) => {
      const [then, now] = [before.get(readText(row.Sym ?? row.sym))?.[field], row[field]]
      return typeof then === 'number' && typeof now === 'number' && then > 0 && now > 0 ? [now / then] : []
    })
    const factor = median(ratios)
    if (ratios.length >= thresholds.units.minStocks && (factor > most || factor < 1 / most))
      return `the ${name} of ${ratios.length} stocks is ${Number(factor.toPrecision(3))} times the stored one (median)`
  }
  return undefined
}
