import { CollectError, isError } from './errors.js'
import { listHeaders, type Settings } from './settings.js'

/** Removes from a text what identifies the user to a provider. */
export type Redact = (text: string) => string

const MASK = '[redacted]'
/** Anything shorter is no secret. */
const MIN_SECRET_LENGTH = 4
/** This many leading characters identify a secret, because a message may be truncated in the middle of it. */
const PREFIX_LENGTH = 8
const ADDRESS = /\w{1,20}:\/\/[^\s"'<>]+/g

/**
 * Redacts the values of headers, each word in them, and texts in `options`, such as the spreadsheet's ids
 * (plain, JSON-escaped and URL-encoded), and the credentials and queries of any address.
 */
export const createRedactor = (settings: Partial<Settings>): Redact => {
  const { options = {}, notifySecret = '' } = settings
  const ofStreams = Object.values(options).flatMap((own) =>
    Object.values(own).filter((value) => typeof value === 'string'),
  )
  const values = listHeaders(settings).map(([, value]) => value)
  const words = values
    .flatMap((value) => value.split(/[\s,;:=&]+/))
    .filter(({ length }) => length >= PREFIX_LENGTH)
  const secrets = [...values, ...words, ...ofStreams, notifySecret]
    .flatMap((secret) => [
      secret,
      secret.replace(/\s+/g, ' ').trim(),
      JSON.stringify(secret).slice(1, -1),
      encodeURIComponent(secret),
    ])
    .filter(({ length }) => length >= MIN_SECRET_LENGTH)
  // Longest first: if one secret starts with another, replacing the shorter one would leave the rest visible.
  const inOrder = [...new Set(secrets)].sort((one, other) => other.length - one.length)
  // Complete secrets before truncated ones, for the same reason.
  return (text) =>
    inOrder.reduce(
      maskTruncated,
      inOrder.reduce(maskWhole, text.includes('://') ? text.replace(ADDRESS, redactAddress) : text),
    )
}

/** Credentials in an address, also truncated ones: a colon without a port after it. */
const CREDENTIALS = /^(\w+:\/\/)(?:[^/?#]*@|[^/?#:]*:(?!\d*(?:[/?#]|$))[^/?#]*)/

const redactAddress = (address: string): string =>
  address.replace(CREDENTIALS, `$1${MASK}@`).replace(/[?#].+/, (query) => `${query.charAt(0)}${MASK}`)

const maskWhole = (text: string, secret: string): string => text.replaceAll(secret, MASK)

const maskTruncated = (text: string, secret: string): string => {
  const head = secret.slice(0, PREFIX_LENGTH)
  const parts: string[] = []
  let from = 0
  for (let at = text.indexOf(head); at >= 0; at = text.indexOf(head, from)) {
    let end = at + head.length
    while (end < text.length && text[end] === secret[end - at]) end += 1
    parts.push(text.slice(from, at), MASK)
    from = end
  }
  return from === 0 ? text : parts.join('') + text.slice(from)
}

const FREE_TEXTS = ['item', 'reason', 'degraded', 'text', 'error'] as const

/**
 * Redacts the free texts of a record (an event, an outcome), and its error in place; returns the same object
 * if no text has a secret.
 */
export const redactRecord = <T extends object>(record: T, redact: Redact): T => {
  let clean: T & { readonly [Text in (typeof FREE_TEXTS)[number]]?: unknown } = record
  for (const field of FREE_TEXTS) {
    const text = clean[field]
    const redacted = typeof text === 'string' ? redact(text) : text
    if (redacted !== text) clean = { ...clean, [field]: redacted }
  }
  redactError(clean.error, redact)
  return clean
}

/**
 * Redacts the texts of an error and its causes, in place: messages, stacks, other own texts, and those of the
 * failed request and its response.
 */
export const redactError = (error: unknown, redact: Redact): unknown => {
  for (let [inner, left] = [error, 9]; isError(inner) && left > 0; [inner, left] = [inner.cause, left - 1]) {
    inner.message = redact(inner.message)
    if (inner.stack !== undefined) inner.stack = redact(inner.stack)
    Object.assign(inner, redactTexts(inner, redact))
    if (!(inner instanceof CollectError)) continue
    const { request, response } = inner
    if (request) Object.assign(inner, { request: { ...request, ...redactTexts(request, redact) } })
    if (response) Object.assign(inner, { response: { ...response, ...redactTexts(response, redact) } })
  }
  return error
}

/** The own texts of an object that have a secret, redacted. */
const redactTexts = (owner: object, redact: Redact): object =>
  Object.fromEntries(
    Object.entries(owner).flatMap(([name, value]) => {
      const text = typeof value === 'string' ? redact(value) : value
      return text === value ? [] : [[name, text]]
    }),
  )
