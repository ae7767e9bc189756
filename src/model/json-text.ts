/** A document as JSON that is safe to print, on one line or indented by `spaces`. */
export const formatJson = (document: unknown, spaces?: number): string => escapeUnprintable(JSON.stringify(document, null, spaces))

/** Escapes control characters, line separators and direction marks, which JSON permits as they are but a terminal may interpret. */
export const escapeUnprintable = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
