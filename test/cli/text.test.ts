import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clean, cut, padEnd, padStart, width, wrap } from '../../src/cli/terminal/text.js'

describe('text from outside', () => {
  test('loses escape sequences, control characters, line separators and direction marks', () => {
    expect(clean('\x1b[2J\x1b]0;title\x07RED\x1b[31m\u009b1m a\nb\u2028c\u202ed')).toBe('RED a b c d')
  })

  test('keeps no control characters, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        (text) => !/[\p{Cc}\u2028\u2029\u202a-\u202e]/u.test(clean(text)),
      ),
    )
  })
})

describe('the width of a text', () => {
  test.each([
    ['RELIANCE', 8],
    ['é', 1],
    ['e\u0301', 1],
    ['日本', 4],
    ['📈', 2],
    ['₹1,234', 6],
    ['सूची', 3],
    ['समाचार', 6],
    ['शेयर बाज़ार', 9],
    ['ﾊﾝｶｸ', 4],
    ['ｶﾞ', 2],
    ['ＡＢ', 4],
    ['한국', 4],
    ['👍🏽', 2],
    ['👨‍👩‍👧', 2],
    ['🇮🇳', 2],
    ['❤️', 2],
    ['1️⃣', 2],
    ['a\u200bb', 2],
    ['✔ ▸ █░ …', 8],
  ])('%s takes %i columns', (text, columns) => expect(width(text)).toBe(columns))

  test('is never exceeded by what is cut to it', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.nat(30),
        (text, columns) => width(cut(text, columns)) <= columns,
      ),
    )
  })

  test('never cuts a character in two', () => {
    expect([cut('👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧', 5), cut('🇮🇳🇮🇳', 3), cut('सूची में', 3)]).toEqual([
      '👨‍👩‍👧👨‍👩‍👧…',
      '🇮🇳…',
      'सू…',
    ])
  })

  test.each([
    ['filings: 3 new: Board meeting; annual report', 32, 'filings: 3 new: Board meeting…'],
    ['filings: 3 new: Board meeting; annual report', 34, 'filings: 3 new: Board meeting…'],
    ['Announcement under Regulation 30 (LODR) - Annual', 44, 'Announcement under Regulation 30 (LODR)…'],
    ['ENOTFOUND: no address of archive.example.internal', 44, 'ENOTFOUND: no address of archive.example.in…'],
    ['Announcement under', 12, 'Announcemen…'],
    ['a SYMBOLSWITHOUTEND', 12, 'a SYMBOLSWI…'],
  ])('%s is cut to %i columns between two words: %s', (text, columns, cutText) =>
    expect(cut(text, columns)).toBe(cutText),
  )

  test('keeps a number and its unit on one line', () => {
    expect(wrap('ROCE 38.9 % · net ₹ -30 crore · sold', 10)).toEqual([
      'ROCE',
      '  38.9 % ·',
      '  net',
      '  ₹ -30 crore',
      '  · sold',
    ])
  })

  test('decides how much is cut and padded', () => {
    expect([
      cut('market-news', 20),
      cut('market-news', 7),
      cut('日本語', 4),
      cut('abc', 1),
      cut('abc', 0),
    ]).toEqual(['market-news', 'market…', '日…', '…', ''])
    expect([padEnd('日', 4), padStart('日', 4), padEnd('long', 2)]).toEqual(['日  ', '  日', 'long'])
  })
})

describe('wrapping', () => {
  test('wraps at spaces and indents the following lines by two more', () => {
    expect(wrap('  one two three four', 10)).toEqual(['  one two', '    three', '    four'])
  })

  test('leaves a word whole that is longer than a line', () => {
    expect(wrap('a incremental_price_bands.json b', 10)).toEqual([
      'a',
      '  incremental_price_bands.json',
      '  b',
    ])
  })

  test.each([
    [
      'create it with "node dist/bundle/cli/scripstream.cjs run --out DIR".',
      '"node dist/bundle/cli/scripstream.cjs run --out DIR".',
    ],
    ['first run "npx scripstream init" here', '"npx scripstream init"'],
    ['then "node \'/a b/scripstream.cjs\' doctor"', '"node \'/a b/scripstream.cjs\' doctor"'],
    [
      'for example: node dist/scripstream.cjs export --to market.duckdb',
      'node dist/scripstream.cjs export --to market.duckdb',
    ],
  ])('keeps a command whole, so that it can be copied: %s', (text, command) => {
    expect(wrap(text, 20).join('\n')).toContain(command)
    expect(wrap(text, 20).join(' ').replaceAll(/ +/g, ' ')).toBe(text)
  })

  test('leaves an empty text one empty line', () => expect(wrap('', 10)).toEqual(['']))
})
