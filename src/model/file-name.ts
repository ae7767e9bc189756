import { createHash } from 'node:crypto'
import { getOrAdd } from './map.js'

/** An entry that needs a file name. `id` (an ISIN, a security id) distinguishes entries with the same key. */
export interface NamedEntry {
  readonly key: string
  readonly id: string
}

const MAX_LENGTH = 100
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d) *(\.|$)/i
const fold = (name: string): string => name.normalize('NFC').toLowerCase()

/**
 * A file name for each entry, in the same order. Names are safe on every common file system and unique even if case is ignored.
 *
 * A safe and unique key is the name. Any other key (a path, a device name, empty, too long, shared) becomes `key~id`, or `key~~hash` if
 * that is not safe or unique either. With `mayReplace` (index names) every character other than letters, digits, space, `&`, `.`, `_`,
 * `-` is first replaced by `_`.
 */
export const createFileNames = (entries: readonly NamedEntry[], { mayReplace = false } = {}): readonly string[] => {
  const plain = entries.map(({ key }) => toPlainName(key, mayReplace))
  const withId = entries.map(({ key, id }) => (/^[A-Z0-9]{1,20}$/.test(id) ? `${toSafeName(key)}~${id}` : undefined))
  const plainOwners = findOwners(plain, entries)
  const idOwners = findOwners(withId, [])
  return entries.map((entry, index) => {
    const own = plainOwners.has(index) ? plain[index] : idOwners.has(index) ? withId[index] : undefined
    return own ?? `${toSafeName(entry.key)}~~${hashEntry(entry)}`
  })
}

/** The indices whose form is unique. If several share a form, the one whose key is that form in capitals, if there is just one. */
const findOwners = (forms: readonly (string | undefined)[], entries: readonly NamedEntry[]): ReadonlySet<number> => {
  const indices = new Map<string, number[]>()
  for (const [index, form] of forms.entries()) {
    if (form !== undefined) getOrAdd(indices, fold(form), () => []).push(index)
  }
  const owners = [...indices.values()].flatMap((sharing) => {
    if (sharing.length === 1) return sharing
    const inCapitals = sharing.filter((index) => entries[index]?.key === forms[index] && forms[index] === forms[index]?.toUpperCase())
    return inCapitals.length === 1 ? inCapitals : []
  })
  return new Set(owners)
}

const toPlainName = (key: string, mayReplace: boolean): string | undefined => {
  const name = toSafeName(key)
  const isKept = mayReplace ? key.length <= MAX_LENGTH : name === key
  return isKept && name !== '' && !/^[. ]|[. ]$/.test(name) ? name : undefined
}

const toSafeName = (key: string): string => {
  const name = replaceUnsafe(key)
  return DEVICE.test(name) ? `_${name}` : name
}

const replaceUnsafe = (key: string): string =>
  key
    .replace(/[^A-Za-z0-9 &._-]/g, '_')
    .slice(0, MAX_LENGTH)
    .replace(/^[. ]+|[. ]+$/g, '_')

// Hash the JSON: in plain UTF-8 all lone surrogates become the same character.
const hashEntry = ({ key, id }: NamedEntry): string =>
  createHash('sha256')
    .update(JSON.stringify([key, id]))
    .digest('hex')
    .slice(0, 16)
