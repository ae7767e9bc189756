import type { HttpReply } from './transport.js'

const MAX_BYTES_READ = 4_096
const MAX_CHARACTERS_SHOWN = 60

/** Describes a reply in a few words: `text/html, 812 B, "Access Denied"`. An HTML page shows its title, or its text. */
export const seenOf = ({ contentType, body }: HttpReply): string =>
  [...typeOf(contentType), sizeOf(body.length), ...startOf(body)].join(', ')

/** Without parameters. An invalid value is dropped: it may be anything, of any length. */
const typeOf = (contentType = ''): readonly string[] => {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? ''
  return /^[\w.+-]+\/[\w.+-]+$/.test(type) ? [type.slice(0, MAX_CHARACTERS_SHOWN)] : []
}

const sizeOf = (bytes: number): string => (bytes === 0 ? 'empty body' : bytes < 10_000 ? `${bytes} B` : `${Math.round(bytes / 1_000)} kB`)

const startOf = (body: Uint8Array): readonly string[] => {
  const start = Buffer.from(body.subarray(0, MAX_BYTES_READ))
  const text = start.toString('utf8').trim()
  if (text === '') return []
  if (isBinary(text)) return [`bytes ${start.toString('hex', 0, 8)}`]
  const shown = (text.startsWith('<') ? wordsOf(text) : text).replace(/\s+/g, ' ').trim()
  return shown === '' ? [] : [JSON.stringify(shown.length > MAX_CHARACTERS_SHOWN ? `${shown.slice(0, MAX_CHARACTERS_SHOWN)}…` : shown)]
}

const isBinary = (text: string): boolean => /[\0\ufffd]/.test(text.slice(0, 16))

const wordsOf = (page: string): string => {
  const title = between(page, '<title', '</title')
  return title ?? page.replace(/<(script|style)\b[\s\S]*?<\/\1>|<[^>]*>?/gi, ' ')
}

/** The text between two tags; nothing if it is blank. */
const between = (page: string, start: string, end: string): string | undefined => {
  const small = page.toLowerCase()
  const from = page.indexOf('>', small.indexOf(start)) + 1
  const text = small.includes(start) && from > 0 ? page.slice(from, small.indexOf(end, from)).trim() : ''
  return text === '' ? undefined : text
}
