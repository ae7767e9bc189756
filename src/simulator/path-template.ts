type Values = Readonly<Record<string, string>>

/** Reads the values of a path's placeholders; nothing if the path is another one. */
export type PathReader = (path: string, query: string) => Values | undefined

/**
 * Reads addresses made from a template. A placeholder takes as little as it can but may span several segments; the query
 * must have exactly the template's parameters, in any order.
 */
export const pathReader = (template: string): PathReader => {
  const [path = '', query = ''] = template.split('?')
  const readPath = textReader(path)
  const wanted = [...new URLSearchParams(query)].map(([name, value]) => ({ name, read: textReader(value) }))
  return (actualPath, actualQuery) => {
    const asked = new URLSearchParams(actualQuery)
    if (asked.size !== wanted.length) return undefined
    const found = [readPath(actualPath, decoded), ...wanted.map(({ name, read }) => read(asked.get(name) ?? '', same))]
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
    return undefined // a broken percent sign is no address of ours
  }
}

const decoded = (value: string) => decodeURIComponent(value)
const same = (value: string) => value
