import { UsageError, type UsageIssue } from './errors.js'
import { findClosest } from './text.js'

/** What names may be: the word for one, and all of them. */
export interface KnownNames {
  readonly what: string
  readonly names: readonly string[]
}

/** An issue for each name that is unknown, with the known one that it most likely means. `toPath` says where the name is. */
export const findUnknownNames = (
  given: readonly string[],
  { what, names }: KnownNames,
  toPath: (name: string) => string,
): readonly UsageIssue[] =>
  given
    .filter((name) => !names.includes(name))
    .map((name) => {
      const suggestion = findClosest(name, names)
      const meant = suggestion === undefined ? '' : ` (did you mean ${suggestion}?)`
      const message = `unknown ${what}: ${JSON.stringify(name)}${meant}; ${what}s: ${names.join(', ')}`
      return { path: toPath(name), message, ...(suggestion === undefined ? {} : { suggestion }) }
    })

/** @throws UsageError with all issues, if there are any; its message is that of the first one */
export const rejectIssues = (issues: readonly UsageIssue[], place = ''): void => {
  const [first] = issues
  if (first) throw new UsageError(`${place}${first.message}`, { issues })
}

/** @throws UsageError for an option that is not one of the known ones */
export const checkOptionNames = (options: object, known: Readonly<Record<string, true>>): void => {
  rejectIssues(findUnknownNames(Object.keys(options), { what: 'option', names: Object.keys(known) }, (name) => name))
}
