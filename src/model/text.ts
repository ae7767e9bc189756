/** ` (did you mean X?)`, or an empty text. */
export const suggest = (meant: string | undefined): string =>
  meant === undefined ? '' : ` (did you mean ${meant}?)`

/**
 * The candidate that differs by one letter, or by two where the name has six or more; undefined without one.
 */
export const findNearMatch = (name: string, candidates: readonly string[]): string | undefined => {
  const most = name.length < 6 ? 1 : 2
  return findBest(name, candidates, () => most)
}

/** The candidate that a mistyped name most likely means; undefined if none is close. */
export const findClosest = (name: string, candidates: readonly string[]): string | undefined => {
  const containing =
    name.length > 2 ? candidates.find((candidate) => candidate.includes(name.toLowerCase())) : undefined
  if (containing !== undefined) return containing
  return findBest(name, candidates, ({ length }) => Math.max(2, Math.floor(length / 3)))
}

const findBest = (
  name: string,
  candidates: readonly string[],
  most: (candidate: string) => number,
): string | undefined => {
  const [best] = candidates
    .map((candidate) => ({ candidate, edits: countEdits(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, edits }) => edits <= most(candidate))
    .sort((one, other) => one.edits - other.edits)
  return best?.candidate
}

const countEdits = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1]
    for (const [column, wanted] of [...other].entries()) {
      const changed = (row[column] ?? 0) + (letter === wanted ? 0 : 1)
      next.push(Math.min(changed, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

/** A document as JSON that is safe to print, on one line or indented by `spaces`. */
export const formatJson = (document: unknown, spaces?: number): string =>
  escapeUnprintable(JSON.stringify(document, null, spaces))

/**
 * Escapes control characters, line separators and direction marks, which JSON permits as they are but a
 * terminal may interpret.
 */
export const escapeUnprintable = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

const BROKEN = /\\u(?:d[89a-f]|0000)/i
// One match for each escape, a whole pair of surrogates included, so that `\\ud83d` (a backslash and letters)
// stays.
const JSON_ESCAPE = /\\(?:u(?:d[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|d[89a-f][\da-f]{2}|0000)|.)/gis
const LONE_LENGTH = '\\u0000'.length

/**
 * The JSON with well-formed texts: U+FFFD for each half of a surrogate pair, which DuckDB refuses together
 * with its whole table, and for NUL, which ends an SQL statement and which workbooks refuse. In decoded UTF-8
 * both exist as escapes only, so nearly all texts need one search.
 */
export const repairJson = (json: string): string =>
  json.includes('\\u') && BROKEN.test(json)
    ? json.replace(JSON_ESCAPE, (text) => (text.length === LONE_LENGTH ? '\\ufffd' : text))
    : json

/** A text as the content, or in an attribute in double quotes, of XML and HTML. */
export const escapeMarkup = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** An argument as typed in a POSIX shell. */
export const quoteShell = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/**
 * The same bytes as a `Buffer`, without a copy. The public types use `Uint8Array`, so that they need no types
 * of Node.
 */
export const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** More seconds than this are milliseconds, as some gateways write them. */
const MAX_SECONDS = 3_600

/**
 * Parses a `Retry-After` header, seconds or an HTTP date, to milliseconds from `now`, never negative;
 * `undefined` if it is neither. Some hosts send fractions of a second, or milliseconds: a number above an
 * hour.
 */
export const parseRetryAfter = (header: string | null | undefined, now: number): number | undefined => {
  const text = header?.trim() ?? ''
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * (Number(text) > MAX_SECONDS ? 1 : 1_000)
  const at = /^[A-Za-z]{3},? /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}

const SECONDS_OF_YEAR = 31_536_000
/** Larger instants are milliseconds. */
const MAX_INSTANT_SECONDS = 100_000_000_000

/**
 * When a host that answered 429 grants requests again, as the text of a `Retry-After`: its own, or the reset
 * of the rate limit. `RateLimit` and `RateLimit-Reset` (drafts of the IETF) have seconds from now,
 * `X-RateLimit-Reset` those or an instant.
 */
export const findRetryAfter = (get: (name: string) => string | undefined): string | undefined => {
  const after = get('retry-after')
  if (after !== undefined) return after
  const inLimit = /\b(?:reset|t)=(\d+)/.exec(get('ratelimit') ?? '')?.[1]
  const reset = inLimit ?? get('ratelimit-reset') ?? get('x-ratelimit-reset') ?? ''
  const value = reset.trim() === '' ? Number.NaN : Number(reset)
  if (!(value > SECONDS_OF_YEAR)) return value >= 0 ? `${value}` : undefined
  return new Date(value < MAX_INSTANT_SECONDS ? value * 1_000 : value).toUTCString()
}
