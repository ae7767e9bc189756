type Values = Readonly<Record<string, string>>

/** Reads the values of a path's placeholders; undefined if the path does not match. */
export type PathReader = (path: string, query: string) => Values | undefined

/** Matches URLs against a template. Placeholders are lazy and may span segments; the query has the template's parameters, in any order. */
export const pathReader = (template: string): PathReader => {
  const [path = '', query = ''] = template.split('?')
  const readPath = textReader(path)
  const wanted = [...new URLSearchParams(query)].map(([name, value]) => ({ name, read: textReader(value) }))
  return (actualPath, actualQuery) => {
    const actual = new URLSearchParams(actualQuery)
    if (actual.size !== wanted.length) return undefined
    const found = [readPath(actualPath, decoded), ...wanted.map(({ name, read }) => read(actual.get(name) ?? '', same))]
    return found.some((values) => values === undefined) ? undefined : Object.assign({}, ...found)
  }
}

export const placeholdersIn = (template: string): number => template.split('{').length - 1

const textReader = (template: string) => {
  const pattern = template.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{(\w+)\}/g, '(?<$1>.+?)')
  const whole = new RegExp(`^${pattern}$`)
  return (text: string, convert: (value: string) => string): Values | undefined => {
    const match = whole.exec(text)
    return match ? valuesOf(match.groups ?? {}, convert) : undefined
  }
}

const valuesOf = (groups: Values, convert: (value: string) => string): Values | undefined => {
  try {
    return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, convert(value)]))
  } catch {
    return undefined // an invalid percent escape matches no endpoint
  }
}

const decoded = (value: string) => decodeURIComponent(value)
const same = (value: string) => value
