/** A value in JSON: what follows a colon, a bracket or a comma, but not the name of a field. */
const VALUE = /((?<=[:[,])(?:"[^"\\]*(?:\\.[^"\\]*)*"(?!:)|[-\dtfn][^,\]}"]*))/

/** The regular expression would need too much of the stack for a text of many megabytes. */
const MAX_LENGTH = 1_000_000

/**
 * Splits a row into its values, at odd places, and the text between them, at even places. Joined, the parts are the row, whatever it is:
 * nothing depends on its being JSON but how small a difference is. Rows of the same form have the same parts at even places, but for the
 * last one: the last row of an array has no comma.
 */
export const splitValues = (row: string): string[] => (row.length > MAX_LENGTH ? [row] : row.split(VALUE))

/** Characters of a row in which its first values are looked for. */
export const MAX_START = 256

/** The first parts of the beginning of a row. */
export const splitStart = (row: string, limit: number): string[] => row.slice(0, MAX_START).split(VALUE, limit)
