/** Whether a value parsed from a text is nested deeper than a number of levels. The check itself never recurses deeper. */
export const isDeeperThan = (levels: number, value: unknown, text: string): boolean => mayNest(levels + 1, text) && nests(levels, value)

const nests = (levels: number, value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  return (Array.isArray(value) ? value : Object.values(value)).some((inner) => nests(levels - 1, inner))
}

/**
 * A fast pre-check: n levels need n opening brackets, and n closing ones behind the innermost. Most answers are lists of flat records with
 * fewer; this takes a tenth of the time of a walk.
 */
const mayNest = (levels: number, text: string): boolean => {
  const innermost = placeOf(levels, ['{', '['], text, 0)
  return innermost !== undefined && placeOf(levels, ['}', ']'], text, innermost) !== undefined
}

/** The offset of the nth occurrence of either bracket. */
const placeOf = (nth: number, [one, other]: readonly [string, string], text: string, from: number): number | undefined => {
  let [ofOne, ofOther] = [text.indexOf(one, from), text.indexOf(other, from)]
  for (let count = 1; ofOne >= 0 || ofOther >= 0; count += 1) {
    const place = ofOne < 0 || (ofOther >= 0 && ofOther < ofOne) ? ofOther : ofOne
    if (count === nth) return place
    if (place === ofOne) ofOne = text.indexOf(one, place + 1)
    else ofOther = text.indexOf(other, place + 1)
  }
  return undefined
}
