/** The first index of an ascending list whose value is not below `value`; the length of the list if no value is. */
export const lowerBound = <T extends number | string>(list: readonly T[], value: T): number => {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((list[middle] as T) < value) low = middle + 1
    else high = middle
  }
  return low
}
