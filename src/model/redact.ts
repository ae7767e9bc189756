import { CollectError } from './errors.js'
import type { Settings } from './settings.js'

/** Takes out of a text what identifies the user to a provider. */
export type Redact = (text: string) => string

const MASK = '[redacted]'
/** Nothing shorter is a secret. */
const SHORTEST = 4
/** So much of a secret's beginning is enough to take it for the secret: a text may have been cut in the middle of it. */
const HEAD = 8
const ADDRESS = /\w{1,20}:\/\/[^\s"'<>]+/g

/**
 * Finds the values of headers, each word of them, and the spreadsheet's ids, as they are and as JSON and addresses write them, and the
 * credentials and queries of any address.
 */
export const redactorOf = ({ headers, sheetId = '', asmTabId = '', gsmTabId = '' }: Partial<Settings>): Redact => {
  const values = Object.values(headers ?? {})
  const words = values.flatMap((value) => value.split(/[\s,;:=&]+/)).filter(({ length }) => length >= HEAD)
  const secrets = [...values, ...words, sheetId, asmTabId, gsmTabId]
    .flatMap((secret) => [secret, secret.replace(/\s+/g, ' ').trim(), JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
    .filter(({ length }) => length >= SHORTEST)
  // The longest first, or what follows a secret that begins another would be left.
  const inOrder = [...new Set(secrets)].sort((one, other) => other.length - one.length)
  // Whole ones before cut ones, for the same reason.
  return (text) => inOrder.reduce(maskedCut, inOrder.reduce(masked, text.includes('://') ? text.replace(ADDRESS, bare) : text))
}

/** Credentials in an address, or what a cut left of them: a colon that no port follows. */
const CREDENTIALS = /^(\w+:\/\/)(?:[^/?#]*@|[^/?#:]*:(?!\d*(?:[/?#]|$))[^/?#]*)/

/** An address without credentials and query. */
const bare = (address: string): string =>
  address.replace(CREDENTIALS, `$1${MASK}@`).replace(/[?#].+/, (query) => `${query.charAt(0)}${MASK}`)

const masked = (text: string, secret: string): string => text.replaceAll(secret, MASK)

const maskedCut = (text: string, secret: string): string => {
  const head = secret.slice(0, HEAD)
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

/** A record (an event, a settled item) whose free texts are redacted, itself if it holds no secret; what it is known by stays. */
export const withoutSecrets = <T extends object>(record: T, redact: Redact): T => {
  let clean: T & { readonly [Text in (typeof FREE_TEXTS)[number]]?: unknown } = record
  for (const field of FREE_TEXTS) {
    const text = clean[field]
    const redacted = typeof text === 'string' ? redact(text) : text
    if (redacted !== text) clean = { ...clean, [field]: redacted }
  }
  return clean
}

/** The same error, with everything redacted that it and its causes say. */
export const redactError = (error: unknown, redact: Redact): unknown => {
  for (let [inner, left] = [error, 9]; inner instanceof Error && left > 0; [inner, left] = [inner.cause, left - 1]) {
    inner.message = redact(inner.message)
    if (inner instanceof CollectError && inner.answered !== undefined) inner.answered = redact(inner.answered)
    if (inner.stack !== undefined) inner.stack = redact(inner.stack)
  }
  return error
}
