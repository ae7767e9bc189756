/** SQL literals: a text, a name, a list. */
export const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`
export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`
export const quoteList = (texts: readonly string[]): string => `[${texts.map(quoteText).join(', ')}]`

/** The JSON path of a key; a text that starts with `$` already is a path. */
export const toJsonPath = (key: string): string => quoteText(key.startsWith('$') ? key : `$."${key}"`)
