import type { Conversion } from './row-schema.js'

/** In this order: what an ampersand makes of the text behind it stays as it is. */
const CHARACTERS = { lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', amp: '&' } as const

/** The number of a character, decimal or hexadecimal. `0` is none. */
const NUMBERED = /&#(0*[1-9]\d{0,5}|[xX]0*[1-9a-fA-F][0-9a-fA-F]{0,4});/g

/** Half of a pair of UTF-16 is no character. */
const isHalf = (code: number): boolean => code >= 0xd800 && code <= 0xdfff

/** A text without entities of HTML, which one path of the provider writes and another one does not. */
export const decodeEntities = (text: string): string => {
  if (!text.includes('&')) return text
  const numbered = text.replace(NUMBERED, (entity, number: string) => {
    const code = Number(number.replace(/^[xX]/, '0x'))
    return isHalf(code) ? entity : String.fromCodePoint(code)
  })
  return Object.entries(CHARACTERS).reduce(
    (decoded, [name, character]) => decoded.replaceAll(`&${name};`, character),
    numbered,
  )
}

/** The same in SQL: each number that the text has, then each name. */
export const ENTITIES: Conversion = {
  sql: (text) => {
    const number = "CAST(if(n[1] IN ('x', 'X'), '0x' || n[2:], n) AS INTEGER)"
    const found = `regexp_extract_all(${text}, '${NUMBERED.source}', 1)`
    const numbered = `list_reduce(list_distinct(${found}), lambda t, n: if(${number} BETWEEN 55296 AND 57343, t, replace(t, '&#' || n || ';', chr(${number}))), ${text})`
    const decoded = Object.entries(CHARACTERS).reduce(
      (sql, [name, character]) =>
        `replace(${sql}, '&${name};', ${character === "'" ? 'chr(39)' : `'${character}'`})`,
      numbered,
    )
    return `CASE WHEN contains(${text}, '&') THEN ${decoded} ELSE ${text} END`
  },
  value: decodeEntities,
}
