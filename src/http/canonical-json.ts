/**
 * A scanner for canonical JSON: text for which `JSON.stringify(JSON.parse(text))` prints the same text. It
 * proves that without making any object, and rejects whatever it cannot prove; then the text must be parsed.
 * The bytes must be valid UTF-8.
 */

const [QUOTE, PLUS, COMMA, MINUS, POINT, ZERO, NINE, COLON] = [34, 43, 44, 45, 46, 48, 57, 58] as const
const [BACKSLASH, UNDERSCORE, LETTER_E] = [92, 95, 101] as const
const [LIST_START, LIST_END, OBJECT_START, OBJECT_END] = [91, 93, 123, 125] as const
/** The letters of the escapes that `JSON.stringify` prints, without `\u`. */
const ESCAPES: readonly number[] = [...Buffer.from('"\\bfnrt')]
/** Bytes below it are control characters. */
const SPACE = 32
const WORDS: readonly Buffer[] = ['true', 'false', 'null'].map((word) => Buffer.from(word))

/** A number of up to this many digits is exactly what JavaScript prints for it, */
export const MAX_DIGITS = 15
/** unless it is below 0.000001: then JavaScript prints an exponent. */
export const MAX_DIGITS_BELOW_ONE = '0.000001'.length

/** Objects and lists within each other. Deeper ones are parsed; the parser refuses those of 64 levels. */
const MAX_LEVELS = 8

const FNV_PRIME = 0x01000193
/** The hashes of the names of all objects that are open. */
const openNames = new Int32Array(256)
/** The offset of the next escape. It is not known if the scanner has passed it. */
let nextEscape = 0

/**
 * Begins to scan an answer. Returns false if it has control characters, which are white space, or must be
 * escaped in strings: no function below looks for them.
 */
export const beginScan = (bytes: Buffer): boolean => {
  nextEscape = 0
  if (bytes.length < 4) return bytes.every(isNoControl)
  const head = -bytes.byteOffset & 3
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + head, (bytes.length - head) >> 2)
  let signs = 0
  // The highest bit of a byte is set in the difference, but not in the byte, if the byte is below 32.
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] as number
    signs |= (word - 0x20202020) & ~word
  }
  const others = [...bytes.subarray(0, head), ...bytes.subarray(head + words.byteLength)]
  return (signs & 0x80808080) === 0 && others.every(isNoControl)
}

const isNoControl = (byte: number): boolean => byte >= SPACE

/** Where an object has some fields: the offsets of each name, and of its value. */
export interface FieldSpans {
  /** Of the names. */
  readonly hashes: readonly number[]
  readonly names: Int32Array
  /** Zero if the object lacks the field. */
  readonly starts: Int32Array
  readonly ends: Int32Array
}

export const hashName = (name: Uint8Array): number =>
  name.reduce((hash, byte) => Math.imul(hash ^ byte, FNV_PRIME), 0)

export const startsWith = (bytes: Buffer, from: number, text: Buffer): boolean => {
  for (let index = 0; index < text.length; index += 1) if (bytes[from + index] !== text[index]) return false
  return true
}

// Each of these functions returns the offset behind a canonical value, or -1. Behind the end of the bytes,
// `undefined` equals no character. `open` is how many names are open, `level` how many objects and lists.

const scanValue = (bytes: Buffer, at: number, open: number, level: number): number => {
  const byte = bytes[at] as number
  if (byte === QUOTE) return scanString(bytes, at)
  if (byte === MINUS || (byte >= ZERO && byte <= NINE)) return scanNumber(bytes, at)
  if (byte === OBJECT_START) return scanObject(bytes, at, undefined, open, level + 1)
  if (byte === LIST_START) return scanList(bytes, at, open, level + 1)
  const word = WORDS.find(([first]) => first === byte)
  return word !== undefined && startsWith(bytes, at, word) ? at + word.length : -1
}

/**
 * Rejects an object in which two names have the same hash: they may be the same name. JavaScript moves names
 * that are integers to the front, and `__proto__` is special. A name in `fields` may be another one with its
 * hash.
 */
export const scanObject = (
  bytes: Buffer,
  start: number,
  fields?: FieldSpans,
  open = 0,
  level = 1,
): number => {
  if (level > MAX_LEVELS || bytes[start] !== OBJECT_START) return -1
  let at = start + 1
  if (bytes[at] === OBJECT_END) return at + 1
  let end = open
  do {
    const name = at + 1
    let byte = bytes[name] as number
    if (bytes[at] !== QUOTE || byte === UNDERSCORE || (byte >= ZERO && byte <= NINE)) return -1
    let hash = 0
    for (at = name; byte !== QUOTE && byte !== BACKSLASH && at < bytes.length; byte = bytes[++at] as number)
      hash = Math.imul(hash ^ byte, FNV_PRIME)
    if (byte !== QUOTE || bytes[at + 1] !== COLON || end === openNames.length) return -1
    for (let other = open; other < end; other += 1) if (openNames[other] === hash) return -1
    openNames[end++] = hash
    const value = at + 2
    // Most values are texts without escapes.
    const textEnd = bytes[value] === QUOTE ? bytes.indexOf(QUOTE, value + 1) : -1
    at = textEnd > 0 && textEnd < nextEscape ? textEnd + 1 : scanValue(bytes, value, end, level)
    if (at < 0) return -1
    if (fields === undefined) continue
    const { hashes } = fields
    for (let index = 0; index < hashes.length; index += 1) {
      if (hashes[index] !== hash) continue
      fields.names[index] = name
      fields.starts[index] = value
      fields.ends[index] = at
    }
  } while (bytes[at++] === COMMA)
  return bytes[at - 1] === OBJECT_END ? at : -1
}

const scanList = (bytes: Buffer, start: number, open: number, level: number): number => {
  if (level > MAX_LEVELS) return -1
  let at = start + 1
  if (bytes[at] === LIST_END) return at + 1
  do {
    at = scanValue(bytes, at, open, level)
    if (at < 0) return -1
  } while (bytes[at++] === COMMA)
  return bytes[at - 1] === LIST_END ? at : -1
}

/** A search in native code takes half the time of a loop. */
const scanString = (bytes: Buffer, start: number): number => {
  if (nextEscape <= start) {
    const found = bytes.indexOf(BACKSLASH, start + 1)
    nextEscape = found < 0 ? bytes.length : found
  }
  let at = bytes.indexOf(QUOTE, start + 1)
  if (at < nextEscape) return at < 0 ? -1 : at + 1
  for (at = nextEscape; at < bytes.length && bytes[at] !== QUOTE; at += 1)
    if (bytes[at] === BACKSLASH && !ESCAPES.includes(bytes[++at] as number)) return -1
  return at < bytes.length ? at + 1 : -1
}

/** Short numbers are proven by their digits, others by printing them. */
const scanNumber = (bytes: Buffer, start: number): number => {
  let at = skipDigits(bytes, start)
  const whole = at - start
  if (bytes[at] === POINT) at = skipDigits(bytes, at + 1)
  const length = at - start
  const isWhole = length === whole
  const isShort =
    bytes[start] === ZERO ? whole === 1 && length <= MAX_DIGITS_BELOW_ONE : whole > 0 && length <= MAX_DIGITS
  if (isShort && bytes[at] !== LETTER_E && (isWhole || (bytes[at - 1] as number) > ZERO)) return at
  while (isNumeric(bytes[at] as number)) at += 1
  const text = bytes.toString('latin1', start, at)
  return String(Number(text)) === text ? at : -1
}

const skipDigits = (bytes: Buffer, start: number): number => {
  let at = start
  for (let byte = bytes[at] as number; byte >= ZERO && byte <= NINE; byte = bytes[++at] as number);
  return at
}

const isNumeric = (byte: number): boolean =>
  (byte >= ZERO && byte <= NINE) || byte === POINT || byte === LETTER_E || byte === PLUS || byte === MINUS
