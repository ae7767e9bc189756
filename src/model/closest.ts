/** ` Did you mean X?`, where a candidate is close to a mistyped name; nothing else. */
export const didYouMean = (name: string, candidates: readonly string[]): string => {
  const near = closest(name, candidates)
  return near === undefined ? '' : ` Did you mean ${near}?`
}

/** The candidate that is one or two letters away, as far as so short a name tells; nothing where none is. */
export const almost = (name: string, candidates: readonly string[]): string | undefined => {
  const most = name.length < 6 ? 1 : 2
  return bestOf(name, candidates, () => most)
}

/** The candidate that a mistyped name was most likely meant to be; nothing where none is close. */
export const closest = (name: string, candidates: readonly string[]): string | undefined => {
  const containing = name.length > 2 ? candidates.find((candidate) => candidate.includes(name.toLowerCase())) : undefined
  if (containing !== undefined) return containing
  return bestOf(name, candidates, ({ length }) => Math.max(2, Math.floor(length / 3)))
}

const bestOf = (name: string, candidates: readonly string[], most: (candidate: string) => number): string | undefined => {
  const [best] = candidates
    .map((candidate) => ({ candidate, edits: editsBetween(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, edits }) => edits <= most(candidate))
    .sort((one, other) => one.edits - other.edits)
  return best?.candidate
}

/** How many letters must be put in, taken out or changed (Levenshtein). */
const editsBetween = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, place) => place)
  for (const [place, letter] of [...one].entries()) {
    const next = [place + 1]
    for (const [column, wanted] of [...other].entries()) {
      const changed = (row[column] ?? 0) + (letter === wanted ? 0 : 1)
      next.push(Math.min(changed, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
