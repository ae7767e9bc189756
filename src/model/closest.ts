/** The candidate that a mistyped name was most likely meant to be; nothing where none is close. */
export const closest = (name: string, candidates: readonly string[]): string | undefined => {
  const containing = name.length > 2 ? candidates.find((candidate) => candidate.includes(name.toLowerCase())) : undefined
  if (containing !== undefined) return containing
  const [best] = candidates
    .map((candidate) => ({ candidate, edits: editsBetween(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, edits }) => edits <= Math.max(2, Math.floor(candidate.length / 3)))
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
