/** Whether a value parsed from a text is nested deeper than a number of levels. The check itself never recurses deeper. */
export const isDeeperThan = (levels: number, value: unknown, text: string): boolean =>
  mayBeNested(levels + 1, text) && isNested(levels, value)

const isNested = (levels: number, value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  return (Array.isArray(value) ? value : Object.values(value)).some((inner) => isNested(levels - 1, inner))
}

/**
 * A fast pre-check: n levels need n opening brackets, and n closing ones behind the innermost. Most answers are lists of flat records with
 * fewer; this takes a tenth of the time of a walk.
 */
const mayBeNested = (levels: number, text: string): boolean => {
  const innermost = findNthBracket(levels, ['{', '['], text, 0)
  return innermost !== undefined && findNthBracket(levels, ['}', ']'], text, innermost) !== undefined
}

/** The offset of the nth occurrence of either bracket. */
const findNthBracket = (nth: number, [one, other]: readonly [string, string], text: string, from: number): number | undefined => {
  let [atOne, atOther] = [text.indexOf(one, from), text.indexOf(other, from)]
  for (let count = 1; atOne >= 0 || atOther >= 0; count += 1) {
    const offset = atOne < 0 || (atOther >= 0 && atOther < atOne) ? atOther : atOne
    if (count === nth) return offset
    if (offset === atOne) atOne = text.indexOf(one, offset + 1)
    else atOther = text.indexOf(other, offset + 1)
  }
  return undefined
}
