import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { escapeFormulasInLine } from '../../src/market/list-sources.js'
import { escapeFormula } from '../../src/model/formula.js'

const cellsOf = (line: string): readonly string[] =>
  (parse(line, { trim: true, relax_quotes: true }) as string[][])[0] ?? []

describe('a line of CSV', () => {
  it.each([
    ['=1+1,EQ', "'=1+1,EQ"],
    ["A,=cmd|'/c calc'!A0,EQ", "A,'=cmd|'/c calc'!A0,EQ"],
    ['A, =1,EQ', "A,'=1,EQ"],
    ['A,"=HYPERLINK(""http://x"",""y"")",EQ', 'A,"\'=HYPERLINK(""http://x"",""y"")",EQ'],
    ['A,"  =1, 2",EQ', 'A,"\'  =1, 2",EQ'],
    ['A,+91 98,EQ', "A,'+91 98,EQ"],
    ['A,-2+3,EQ', "A,'-2+3,EQ"],
    ['A,--1,EQ', "A,'--1,EQ"],
    ['A,@SUM(1),EQ', "A,'@SUM(1),EQ"],
    ['A,\t=1,EQ', "A,'=1,EQ"],
    ['A,"\tx",EQ', "A,'\tx,EQ"],
    ['A,"\rx",EQ', 'A,"\'\rx",EQ'],
    ['A,\u00a0=1,EQ', "A,'=1,EQ"],
    ['=1,+x,@y', "'=1,'+x,'@y"],
  ])('%j is escaped to %j', (line, safe) => expect(escapeFormulasInLine(line)).toBe(safe))

  it.each([
    'SYMBOL,NAME OF COMPANY, SERIES, DATE OF LISTING, PAID UP VALUE, MARKET LOT, ISIN NUMBER, FACE VALUE',
    'BAJAJ-AUTO,Bajaj Auto Limited,EQ,26-MAY-2008,10,1,INE917I01010,10',
    'A, -5 ,+5,-0.25,-.5,5.,1e-3,-1E+3',
    'A,-, - ,"-"',
    'A,"x=1",a@b,1-2,(=1)',
    'A,\'=1,"\'=1"',
    ' "quoted" ,  spaced  ,""',
  ])('%j stays unchanged', (line) => expect(escapeFormulasInLine(line)).toBe(line))

  it('never contains a cell that a spreadsheet would run, and keeps every other cell and every number', () => {
    const cell = fc.oneof(
      fc.string({
        unit: fc.constantFrom('=', '+', '-', '@', '\t', ' ', 'a', '1', '.', "'", ','),
        maxLength: 5,
      }),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
      fc.string({ maxLength: 6 }).filter((text) => !/[\r\n]/.test(text)),
    )
    const line = fc
      .array(fc.tuple(cell, fc.boolean()), { minLength: 2, maxLength: 5 })
      .map((cells) =>
        cells
          .map(([text, quoted]) => (quoted || /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text))
          .join(','),
      )
    fc.assert(
      fc.property(line, (given) => {
        const [before, after] = [cellsOf(given), cellsOf(escapeFormulasInLine(given))]
        expect(after).toHaveLength(before.length)
        for (const [place, text] of after.entries()) {
          const isNumber = text.trim() === '-' || (text.trim() !== '' && !Number.isNaN(Number(text)))
          expect(/^\s*[=+\-@]|^[\t\r]/.test(text) && !isNumber, JSON.stringify([given, text])).toBe(false)
          expect([before[place], `'${before[place]}`]).toContain(text)
          if (isNumber) expect(text).toBe(before[place])
        }
        if (after.every((text, place) => text === before[place]))
          expect(escapeFormulasInLine(given)).toBe(given)
      }),
      { numRuns: 5_000 },
    )
  })
})

it.each([
  ['=1+1', "'=1+1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['-2+3', "'-2+3"],
  ['\n=1', "'\n=1"],
  ['-2.5e3', '-2.5e3'],
  ['+5', '+5'],
  ['M&M', 'M&M'],
  ['', ''],
])('escapes the cell %j to %j', (text, cell) => expect(escapeFormula(text)).toBe(cell))
