type Values = Readonly<Record<string, string>>

/** Reads the values of a path's placeholders; undefined if the path does not match. */
export type PathReader = (path: string, query: string) => Values | undefined

/** Matches URLs against a template. Placeholders are lazy and may span segments; the query has the template's parameters, in any order. */
export const createPathReader = (template: string): PathReader => {
  const [path = '', query = ''] = template.split('?')
  const readPath = createTextReader(path)
  const wanted = [...new URLSearchParams(query)].map(([name, value]) => ({ name, read: createTextReader(value) }))
  return (actualPath, actualQuery) => {
    const actual = new URLSearchParams(actualQuery)
    if (actual.size !== wanted.length) return undefined
    const found = [readPath(actualPath, decodeValue), ...wanted.map(({ name, read }) => read(actual.get(name) ?? '', keepValue))]
    return found.some((values) => values === undefined) ? undefined : Object.assign({}, ...found)
  }
}

export const countPlaceholders = (template: string): number => template.split('{').length - 1

const createTextReader = (template: string) => {
  const pattern = template.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{(\w+)\}/g, '(?<$1>.+?)')
  const whole = new RegExp(`^${pattern}$`)
  return (text: string, convert: (value: string) => string): Values | undefined => {
    const match = whole.exec(text)
    return match ? convertValues(match.groups ?? {}, convert) : undefined
  }
}

const convertValues = (groups: Values, convert: (value: string) => string): Values | undefined => {
  try {
    return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, convert(value)]))
  } catch {
    return undefined // an invalid percent escape matches no endpoint
  }
}

const decodeValue = (value: string) => decodeURIComponent(value)
const keepValue = (value: string) => value
