import { stripVTControlCharacters } from 'node:util'

// Control characters, line separators, and marks that change the text direction.
const UNSAFE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\u061c\u200e\u200f\ufeff]+/gu
const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u
const NO_WIDTH = /[\p{M}\u200b-\u200d]/u

/** Makes text from outside safe for a terminal: one line, without escape sequences and control characters. */
export const clean = (text: string): string => stripVTControlCharacters(text).replace(UNSAFE, ' ').trim()

const measureCharacter = (character: string): number => (NO_WIDTH.test(character) ? 0 : WIDE.test(character) ? 2 : 1)

/** The columns of a text without escape sequences. */
export const width = (text: string): number => {
  let columns = 0
  for (const character of text) columns += measureCharacter(character)
  return columns
}

/** The text in at most `columns`; an ellipsis replaces the rest. */
export const cut = (text: string, columns: number, ellipsis = '…'): string => {
  if (width(text) <= columns) return text
  if (columns <= width(ellipsis)) return ellipsis.slice(0, Math.max(0, columns))
  let taken = ''
  let room = columns - width(ellipsis)
  for (const character of text) {
    room -= measureCharacter(character)
    if (room < 0) break
    taken += character
  }
  return taken + ellipsis
}

export const padEnd = (text: string, columns: number): string => text + ' '.repeat(Math.max(0, columns - width(text)))
export const padStart = (text: string, columns: number): string => ' '.repeat(Math.max(0, columns - width(text))) + text

/** Wraps a text at spaces into lines of at most `columns`, indenting all but the first by two; a longer word stays whole. */
export const wrap = (text: string, columns: number): readonly string[] => {
  const [margin = ''] = /^ */.exec(text) ?? []
  const lines: string[] = []
  let line = margin
  let isFirst = true
  for (const word of text.trim().split(' ')) {
    if (!isFirst && width(line) + 1 + width(word) > columns) {
      lines.push(line)
      line = `${margin}  ${word}`
    } else line += isFirst ? word : ` ${word}`
    isFirst = false
  }
  return [...lines, line]
}
