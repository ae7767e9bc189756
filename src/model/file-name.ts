import { createHash } from 'node:crypto'

/** Something that needs a file name; `id` (an ISIN, a security id) tells apart what shares a key. */
export interface Named {
  readonly key: string
  readonly id: string
}

const LONGEST = 100
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d) *(\.|$)/i
const fold = (name: string): string => name.normalize('NFC').toLowerCase()

/**
 * A file name for each entry, in the same order: safe on every common file system, and no two alike even where case does not count.
 *
 * A key stays as it is where it can. One that cannot (a path, a device name, empty, too long), or that several entries share,
 * becomes `key~id`; where even that is not safe or unique, `key~~hash`. With `mayReplace` (index names) a key still counts as plain
 * after every character other than letters, digits, space, `&`, `.`, `_`, `-` became `_`.
 */
export const fileNamesOf = (entries: readonly Named[], { mayReplace = false } = {}): readonly string[] => {
  const plain = entries.map(({ key }) => plainForm(key, mayReplace))
  const withId = entries.map(({ key, id }) => (/^[A-Z0-9]{1,20}$/.test(id) ? `${readable(key)}~${id}` : undefined))
  const plainOwners = ownersOf(plain, entries)
  const idOwners = ownersOf(withId, [])
  return entries.map((entry, place) => {
    const own = plainOwners.has(place) ? plain[place] : idOwners.has(place) ? withId[place] : undefined
    return own ?? `${readable(entry.key)}~~${hashOf(entry)}`
  })
}

/** The places whose form nobody else has; of several that share one, the only one whose key is that form in capitals. */
const ownersOf = (forms: readonly (string | undefined)[], entries: readonly Named[]): ReadonlySet<number> => {
  const places = new Map<string, number[]>()
  for (const [place, form] of forms.entries()) {
    if (form === undefined) continue
    const sharing = places.get(fold(form))
    if (sharing) sharing.push(place)
    else places.set(fold(form), [place])
  }
  const owners = [...places.values()].flatMap((sharing) => {
    if (sharing.length === 1) return sharing
    const inCapitals = sharing.filter((place) => entries[place]?.key === forms[place] && forms[place] === forms[place]?.toUpperCase())
    return inCapitals.length === 1 ? inCapitals : []
  })
  return new Set(owners)
}

const plainForm = (key: string, mayReplace: boolean): string | undefined => {
  const name = readable(key)
  const isKept = mayReplace ? key.length <= LONGEST : name === key
  return isKept && name !== '' && !/^[. ]|[. ]$/.test(name) ? name : undefined
}

const readable = (key: string): string => {
  const name = legible(key)
  return DEVICE.test(name) ? `_${name}` : name
}

const legible = (key: string): string =>
  key
    .replace(/[^A-Za-z0-9 &._-]/g, '_')
    .slice(0, LONGEST)
    .replace(/^[. ]+|[. ]+$/g, '_')

// As JSON: in UTF-8 all lone surrogates would be one character.
const hashOf = ({ key, id }: Named): string =>
  createHash('sha256')
    .update(JSON.stringify([key, id]))
    .digest('hex')
    .slice(0, 16)
