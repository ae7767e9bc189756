/** The first position in an ascending list whose value is not below `value`; the length of the list if there is none. */
export const lowerBound = <T extends number | string>(list: readonly T[], value: T): number => {
  let least = 0
  let most = list.length
  while (least < most) {
    const middle = (least + most) >>> 1
    if ((list[middle] as T) < value) least = middle + 1
    else most = middle
  }
  return least
}
