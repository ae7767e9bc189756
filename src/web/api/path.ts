/** The values of the `:names` in a pattern such as `/stock/:symbol`; undefined if the path is another one. */
export const matchPath = (
  pattern: string,
  path: string,
  decode: (part: string) => string,
): Readonly<Record<string, string>> | undefined => {
  const [wanted, parts] = [pattern.split('/'), path.split('/')]
  if (wanted.length !== parts.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, name] of wanted.entries()) {
    const part = parts[index] ?? ''
    if (name.startsWith(':') && part !== '') params[name.slice(1)] = decode(part)
    else if (name !== part) return undefined
  }
  return params
}
