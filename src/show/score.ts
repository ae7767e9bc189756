import { formatNumber, formatQuantity, formatSigned } from '../model/format.js'

/**
 * How many stocks reported in the last days, and of those with figures how many grew against the year
 * before.
 */
export interface Score {
  readonly reported: number
  /** Within seven days from the day of the run. */
  readonly due: number
  readonly salesKnown: number
  readonly salesGrew: number
  readonly profitKnown: number
  readonly profitGrew: number
  /** The median return of the first session after; absent before it. */
  readonly dayReturnPct?: number
}

/** How results went, in words; nothing without any. */
export const describeScore = ({
  reported = 0,
  due = 0,
  salesKnown = 0,
  salesGrew = 0,
  profitKnown = 0,
  profitGrew = 0,
  dayReturnPct,
}: Partial<Score>): string =>
  reported + due === 0
    ? ''
    : [
        `${formatQuantity(reported, 'stock')} reported`,
        `${formatNumber(due)} due within seven days`,
        ...(salesKnown === 0
          ? []
          : [`sales grew at ${formatNumber(salesGrew)} of ${formatNumber(salesKnown)}`]),
        ...(profitKnown === 0
          ? []
          : [`profit at ${formatNumber(profitGrew)} of ${formatNumber(profitKnown)}`]),
        ...(dayReturnPct === undefined ? [] : [`median price ${formatSigned(dayReturnPct, 1)} %`]),
      ].join(' · ')
