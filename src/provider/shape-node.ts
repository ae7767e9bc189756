import type { Kind, Shape } from './shape.js'

const BITS: Readonly<Record<Kind, number>> = { text: 1, number: 2, flag: 4, list: 8, record: 16 }

export interface Known<Layout> {
  readonly name: string
  readonly mask: number
  readonly expected: string
  readonly isRequired: boolean
  readonly isUsual: boolean
  readonly inner: ShapeNode<Layout> | undefined
}

/** A record somewhere in the answer. */
export interface ShapeNode<Layout> {
  readonly path: string
  readonly known: ReadonlyMap<string, Known<Layout>>
  /** How many answers held one. */
  answers: number
  /** How many were looked at. */
  records: number
  last: number
  /** What is known of each order of names that was seen: nearly all records of a place have the same. */
  readonly layouts: Map<string, Layout>
  usual: Layout | undefined
}

/** What there is to know of a record of such a shape, at a path of the answer. */
export const nodeOf = <Layout>(path: string, { fields, allows }: Shape): ShapeNode<Layout> => {
  const own = allows.includes('list') ? `${path}[]` : path
  const node = { path: own, answers: 0, records: 0, last: 0, layouts: new Map<string, Layout>(), usual: undefined }
  const known = Object.entries(fields).map(([given, field]): Known<Layout> => {
    const name = given.replace(/[?~]$/, '')
    const kinds = (typeof field === 'string' ? field.split('|') : field.allows) as readonly Kind[]
    const inner = typeof field === 'string' ? undefined : nodeOf<Layout>(pathTo(node, name), field)
    return { name, mask: maskOf(kinds), expected: kinds.join('|'), isRequired: !given.endsWith('?'), isUsual: given.endsWith('~'), inner }
  })
  return { ...node, known: new Map(known.map((field) => [field.name, field])) }
}

export const maskOf = (kinds: readonly Kind[]): number => kinds.reduce((mask, kind) => mask | BITS[kind], 0)

export const pathTo = ({ path }: { readonly path: string }, name: string): string => (path === '' ? name : `${path}.${name}`)

/** The kind of a value as one bit of a mask; none for null, which passes everywhere. */
export const bitOf = (value: unknown): number => {
  switch (typeof value) {
    case 'string':
      return 1
    case 'number':
      return 2
    case 'boolean':
      return 4
    default:
      return value === null || value === undefined ? 0 : Array.isArray(value) ? 8 : 16
  }
}

export const kindOf = (value: unknown): string => {
  const bit = bitOf(value)
  return Object.entries(BITS).find(([, own]) => own === bit)?.[0] ?? 'nothing'
}
