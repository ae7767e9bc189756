import type { Row } from '../model/row.js'

/** The texts that a page of the site's app router has in place of `__NEXT_DATA__`. */
const FLIGHT_TEXT = /__next_f\.push\(\[1,("[^"\\]*(?:\\.[^"\\]*)*")\]\)/gs

type Chunks = ReadonlyMap<string, unknown>

/** The flight data of a page; nothing if the page has none. */
export const readFlightText = (page: string): string =>
  [...page.matchAll(FLIGHT_TEXT)].map(([, text = '']) => String(parseOr(text, ''))).join('')

const parseOr = (text: string, otherwise?: unknown): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return otherwise
  }
}

/** The start of a chunk: its id, and the bytes of a text, which alone may have line ends. */
const HEAD = /^([0-9a-f]*):(?:T([0-9a-f]{1,8}),)?/

/** The values of flight data by their ids; what is no JSON, such as a module, is undefined. */
export const readFlightChunks = (text: string): Chunks => {
  const bytes = Buffer.from(text)
  const chunks = new Map<string, unknown>()
  for (let at = 0; at < bytes.length; ) {
    const [head = '', id = '', length] = HEAD.exec(bytes.toString('latin1', at, at + 40)) ?? []
    const from = at + head.length
    const lineEnd = bytes.indexOf('\n', from)
    const end = length ? from + Number.parseInt(length, 16) : lineEnd < 0 ? bytes.length : lineEnd
    const content = bytes.toString('utf8', from, end)
    if (head !== '') chunks.set(id, length ? content : parseOr(content))
    at = length ? end : end + 1
  }
  return chunks
}

const REFERENCE = /^\$([0-9a-f]+)((?::[^:]+)*)$/
/** One reference may lead to others; in damaged data, to itself. */
const MAX_REFERENCES = 8

/** What a value stands for: one that begins with `$` is a reference, an escaped text or nothing. */
export const followFlight = (chunks: Chunks, value: unknown, room = { left: MAX_REFERENCES }): unknown => {
  if (typeof value !== 'string' || !value.startsWith('$')) return value
  if (value.startsWith('$$')) return value.slice(1)
  const [, id = '', path = ''] = REFERENCE.exec(value) ?? []
  room.left -= 1
  if (room.left < 0) return undefined
  const found = path
    .split(':')
    .slice(1)
    .reduce<unknown>((found, name) => {
      const inner = followFlight(chunks, found, room)
      // An element is an array of "$", its type, its key and its props.
      const place = Array.isArray(inner) && inner[0] === '$' && name === 'props' ? 3 : name
      return typeof inner === 'object' && inner !== null ? (inner as Row)[place] : undefined
    }, chunks.get(id))
  // A chunk may be a plain text, which is not to be followed.
  return path === '' ? found : followFlight(chunks, found, room)
}

/** A record of flight data with the values of its fields. */
export const followRow = (chunks: Chunks, row: Row): Row =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, followFlight(chunks, value)]))
