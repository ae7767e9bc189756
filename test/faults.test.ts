import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

/** The rows without a gap; later ones are there if they are handled. */
const FAULTS = 123
const NOT_COVERED = /^not covered: \S.{20,}$/

interface Row {
  readonly id: string
  readonly cells: readonly string[]
  /** The entries of the column of tests. */
  readonly tests: readonly string[]
}

/** The rows of all tables of a document. */
const rowsIn = (document: string): readonly Row[] =>
  document
    .split('\n')
    .filter((line) => /^\| *F\d/.test(line))
    .map((line) => {
      const cells = line
        .slice(1, line.lastIndexOf('|'))
        .split('|')
        .map((cell) => cell.trim())
      return { id: cells[0] ?? '', cells, tests: (cells[3] ?? '').split('<br>') }
    })

/** Why an entry in the column of tests is not an existing test. */
const faultOf = (named: string, textOf: (file: string) => string | undefined): string | undefined => {
  const [, file, title = ''] =
    /^`([\w./-]+\.test\.ts|\.\.\/src\/simulation\/invariants\.ts)` › (\S.*)$/.exec(named) ?? []
  if (file === undefined) return `${named}: is not written as a file and a title`
  const text = textOf(file)
  if (text === undefined) return `${named}: there is no such file`
  const isTitle = ["'", '"', '`'].some((quote) => text.includes(quote + title))
  return isTitle ? undefined : `${named}: there is no such title`
}

const readTest = (file: string): string | undefined => {
  const path = join(import.meta.dirname, file)
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

const rows = rowsIn(readFileSync(join(import.meta.dirname, 'FAULTS.md'), 'utf8'))

describe('the list of faults', () => {
  it('has each of them once, in order', () => {
    const numbers = rows.map(({ id }) => Number(id.slice(1)))
    expect(numbers.slice(0, FAULTS)).toEqual(Array.from({ length: FAULTS }, (_, place) => place + 1))
    expect(numbers).toEqual([...new Set(numbers)].sort((one, other) => one - other))
  })

  it('describes what happens for each', () => {
    expect(
      rows.filter(({ cells }) => cells.length !== 4 || cells.some((cell) => cell === '')).map(({ id }) => id),
    ).toEqual([])
  })

  it('names for each its tests, or why there are none', () => {
    const left = rows.filter(({ tests }) => tests.some((test) => test.startsWith('not covered')))
    expect(
      left.filter(({ tests }) => tests.length !== 1 || !NOT_COVERED.test(tests[0] ?? '')).map(({ id }) => id),
    ).toEqual([])
    const wrong = rows
      .filter((row) => !left.includes(row))
      .flatMap(({ id, tests }) =>
        tests.flatMap((test) => {
          const fault = faultOf(test, readTest)
          return fault === undefined ? [] : [`${id} ${fault}`]
        }),
      )
    expect(wrong).toEqual([])
  })
})

describe('the check of the list', () => {
  const textOf = (file: string): string | undefined =>
    file === 'a/b.test.ts' ? "it('does what it says', () => {})" : undefined

  it('accepts a title, or the beginning of one', () => {
    expect(faultOf('`a/b.test.ts` › does what it says', textOf)).toBeUndefined()
    expect(faultOf('`a/b.test.ts` › does what', textOf)).toBeUndefined()
  })

  it.each([
    ['`a/c.test.ts` › does what it says', 'no such file'],
    ['`a/b.test.ts` › does what it should', 'no such title'],
    ['`a/b.test.ts` › what it says', 'no such title'],
    ['a/b.test.ts › does what it says', 'not written as'],
    ['`a/b.test.ts`', 'not written as'],
    ['', 'not written as'],
  ])('reports %j', (named, why) => expect(faultOf(named, textOf)).toContain(why))

  it('reads a row into its cells', () => {
    expect(rowsIn('# x\n| id | a |\n|---|---|\n| F07 | a fault | it ends | `a` › b<br>`c` › d |\n')).toEqual([
      {
        id: 'F07',
        cells: ['F07', 'a fault', 'it ends', '`a` › b<br>`c` › d'],
        tests: ['`a` › b', '`c` › d'],
      },
    ])
  })
})
