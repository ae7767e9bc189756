const TEXT = /^"(?:[ !#-[\]-\u{10ffff}]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*"$/u
const PLAIN = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/

/** What may follow in each state. */
const EXPECTED = {
  start: '{',
  value: 'a text in double quotes, a number, true, false, null, [ or {',
  name: 'a name in double quotes, or }',
  colon: 'a colon',
  comma: 'a comma, or the end of the list or object',
  end: 'nothing after the last }',
} as const

/**
 * Scans the text of a JSON object without comments: the line of each name down to the third level (`hosts.news.url`), and the
 * first mistake with its place, without what the text has there. A comma before the end of a list or object is no mistake.
 */
export const scanJson = (text: string): { readonly lines: ReadonlyMap<string, number>; readonly mistake?: string } => {
  const lines = new Map<string, number>()
  const [open, names]: [string[], string[]] = [[], []]
  let state: keyof typeof EXPECTED = 'start'
  const lineAt = (index: number): number => text.slice(0, index).split('\n').length
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\\n]|\\.)*"?|[{}[\]:,]|[^\s{}[\]:,"]+/g)) {
    const end = open.at(-1) === '{' ? '}' : ']'
    const isPlain = TEXT.test(token) || PLAIN.test(token)
    if (token === end && (state === 'comma' || state === (end === '}' ? 'name' : 'value'))) {
      open.pop()
      state = open.length === 0 ? 'end' : 'comma'
    } else if ((state === 'value' && token === '[') || (/^(start|value)$/.test(state) && token === '{')) {
      open.push(token)
      state = token === '{' ? 'name' : 'value'
    } else if (state === 'name' && TEXT.test(token)) {
      names.splice(open.length - 1, names.length, token.slice(1, -1))
      if (open.length <= 3) lines.set(names.join('.'), lineAt(index))
      state = 'colon'
    } else if (state === 'value' && isPlain) state = 'comma'
    else if (state === 'colon' && token === ':') state = 'value'
    else if (state === 'comma' && token === ',') state = end === '}' ? 'name' : 'value'
    else {
      const expected = token.startsWith('"') && !isPlain ? 'a text that ends with " on its line, with \\\\ for each \\' : EXPECTED[state]
      const column = index - text.lastIndexOf('\n', index - 1)
      return { lines, mistake: `line ${lineAt(index)}, column ${column}: expected ${expected}` }
    }
  }
  return state === 'end' ? { lines } : { lines, mistake: `the file ends on line ${lineAt(text.length)}: expected ${EXPECTED[state]}` }
}
