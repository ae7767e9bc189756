import type { HttpReply } from './transport.js'

const MAX_BYTES_READ = 4_096
const MAX_CHARACTERS_SHOWN = 60

/** Describes a reply in a few words: `text/html, 812 B, "Access Denied"`. An HTML page shows its title, or its text. */
export const describeBody = ({ contentType, body }: HttpReply): string =>
  [...formatContentType(contentType), formatSize(body.length), ...formatStart(body)].join(', ')

/** Without parameters. An invalid value is dropped: it may be anything, of any length. */
const formatContentType = (contentType = ''): readonly string[] => {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? ''
  return /^[\w.+-]+\/[\w.+-]+$/.test(type) ? [type.slice(0, MAX_CHARACTERS_SHOWN)] : []
}

const formatSize = (bytes: number): string =>
  bytes === 0 ? 'empty body' : bytes < 10_000 ? `${bytes} B` : `${Math.round(bytes / 1_000)} kB`

const formatStart = (body: Uint8Array): readonly string[] => {
  const start = Buffer.from(body.subarray(0, MAX_BYTES_READ))
  const text = start.toString('utf8').trim()
  if (text === '') return []
  if (isBinary(text)) return [`bytes ${start.toString('hex', 0, 8)}`]
  const shown = (text.startsWith('<') ? extractText(text) : text).replace(/\s+/g, ' ').trim()
  return shown === '' ? [] : [JSON.stringify(shown.length > MAX_CHARACTERS_SHOWN ? `${shown.slice(0, MAX_CHARACTERS_SHOWN)}…` : shown)]
}

const isBinary = (text: string): boolean => /[\0\ufffd]/.test(text.slice(0, 16))

const extractText = (page: string): string => {
  const title = findBetween(page, '<title', '</title')
  return title ?? page.replace(/<(script|style)\b[\s\S]*?<\/\1>|<[^>]*>?/gi, ' ')
}

/** The text between two tags; nothing if it is blank. */
const findBetween = (page: string, start: string, end: string): string | undefined => {
  const small = page.toLowerCase()
  const from = page.indexOf('>', small.indexOf(start)) + 1
  const text = small.includes(start) && from > 0 ? page.slice(from, small.indexOf(end, from)).trim() : ''
  return text === '' ? undefined : text
}
