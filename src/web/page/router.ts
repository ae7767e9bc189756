import { matchPath } from '../api/path.js'
import type { AnyView, Place } from './view.js'

/** The view of a URL; undefined without one. */
export const findView = (
  views: readonly AnyView[],
  url: URL,
): { readonly view: AnyView; readonly place: Place } | undefined => {
  for (const view of views) {
    const params = matchPath(view.path, url.pathname.replace(/(?<=.)\/$/, ''), decode)
    if (params) return { view, place: { path: url.pathname, params, query: url.searchParams } }
  }
  return undefined
}

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Whether two places need the same data. */
export const needsSameData = (view: AnyView, one: Place, other: Place): boolean =>
  one.path === other.path &&
  [...(view.loadsOn ?? []), ...(view.hasDays ? ['as-of'] : [])].every(
    (key) => one.query.get(key) === other.query.get(key),
  )

/** A query string with changes; undefined removes a key. */
export const changeQuery = (
  query: URLSearchParams,
  changes: Readonly<Record<string, string | undefined>>,
): string => {
  const next = new URLSearchParams(query)
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined) next.delete(key)
    else next.set(key, value)
  }
  const text = next.toString()
  return text === '' ? '' : `?${text}`
}
