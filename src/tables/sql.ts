/** How SQL writes a text, a name, and a list. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`
export const named = (name: string): string => `"${name.replaceAll('"', '""')}"`
export const listed = (texts: readonly string[]): string => `[${texts.map(quoted).join(', ')}]`

/** The path of a key in JSON; a text that begins with `$` is one already. */
export const pathOf = (key: string): string => quoted(key.startsWith('$') ? key : `$."${key}"`)
