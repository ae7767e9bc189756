import type { z } from 'zod'
import { UsageError, type UsageIssue } from './errors.js'
import { explainIssue } from './settings.js'
import { findClosest, suggest } from './text.js'

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
      const message = `unknown ${what}: ${JSON.stringify(name)}${suggest(suggestion)}; ${what}s: ${names.join(', ')}`
      return { path: toPath(name), message, ...(suggestion === undefined ? {} : { suggestion }) }
    })

/** @throws UsageError with all issues, if there are any; its message is that of the first one */
export const rejectIssues = (issues: readonly UsageIssue[], place = ''): void => {
  const [first] = issues
  if (first) throw new UsageError(`${place}${first.message}`, { issues })
}

/** @throws UsageError for an option that is not one of the known ones */
export const checkOptionNames = (options: object, known: Readonly<Record<string, unknown>>): void => {
  rejectIssues(findUnknownNames(Object.keys(options), { what: 'option', names: Object.keys(known) }, (name) => name))
}

/** The checked value. @throws UsageError that begins with `head` and says what is wrong, part by part */
export const parseOptions = <T>(schema: z.ZodType<T>, given: unknown, head: string): T => {
  const { data, error } = schema.safeParse(given)
  if (error === undefined) return data
  const lines = error.issues.map((issue) => {
    const value = issue.path.reduce<unknown>((all, key) => (all as Readonly<Record<PropertyKey, unknown>> | undefined)?.[key], given)
    const meant = issue.code === 'invalid_value' ? findClosest(String(value), issue.values.map(String)) : undefined
    return `${issue.path.join('.')} ${explainIssue(issue)}${suggest(meant)}`.trim()
  })
  throw new UsageError([head, ...lines].join('\n'))
}
