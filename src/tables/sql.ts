/** SQL literals: a text, a name, a list. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`
export const named = (name: string): string => `"${name.replaceAll('"', '""')}"`
export const listed = (texts: readonly string[]): string => `[${texts.map(quoted).join(', ')}]`

/** The JSON path of a key; a text that starts with `$` already is a path. */
export const pathOf = (key: string): string => quoted(key.startsWith('$') ? key : `$."${key}"`)
