import { median } from '../../model/map.js'

/** The share of values that must be near their median. */
const MIN_NEAR = 0.9

/**
 * The median of factors between prices if they are about the same; undefined if they vary. An action changes all prices of a stock by one
 * factor; two stocks are at factors that vary.
 */
export const findConstantFactor = (factors: readonly number[], tolerance: number): number | undefined => {
  const middle = median(factors)
  const near = factors.filter((factor) => Math.abs(factor / middle - 1) <= tolerance)
  return near.length >= MIN_NEAR * factors.length ? middle : undefined
}

export const formatFactor = (factor: number): string => String(Number(factor.toFixed(2)))
