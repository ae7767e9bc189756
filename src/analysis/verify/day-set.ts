import type { CandleArrays } from './candle-arrays.js'

/** The days on which a series has a candle, as a bit set of a few hundred bytes. */
export interface DaySet {
  /** Day numbers, both included. */
  readonly first: number
  readonly last: number
  readonly has: (day: number) => boolean
}

/** The days of a series; undefined if it has no candle. */
export const createDaySet = ({ day, length }: CandleArrays): DaySet | undefined => {
  const first = day[0]
  const last = day[length - 1]
  if (first === undefined || last === undefined || length === 0) return undefined
  const bits = new Uint8Array(((last - first) >> 3) + 1)
  for (let index = 0; index < length; index += 1) {
    const at = (day[index] as number) - first
    bits[at >> 3] = (bits[at >> 3] as number) | (1 << (at & 7))
  }
  return {
    first,
    last,
    has: (wanted) => wanted >= first && wanted <= last && ((bits[(wanted - first) >> 3] as number) & (1 << ((wanted - first) & 7))) !== 0,
  }
}
