import { Writable } from 'node:stream'
import type { DuckDBResult } from '@duckdb/node-api'
import { describe, expect, it } from 'vitest'
import { chooseStatement } from '../../src/cli/query/command.js'
import { printResult } from '../../src/cli/query/print.js'
import { guardStream } from '../../src/cli/terminal/terminal.js'
import { UsageError } from '../../src/model/errors.js'

describe('the statement of a query', () => {
  const terminal = { isTTY: true }
  const pipe = { isTTY: false }
  type StatementInput = Parameters<typeof chooseStatement>[0]
  const given = (input: Partial<StatementInput>): StatementInput => ({
    typed: undefined,
    json: false,
    ...input,
  })
  const holding = (text: string) => (): string => text
  const unread = (): never => {
    throw new Error('read')
  }

  it.each([
    ['typed', { typed: 'from a' }, pipe, 'from a'],
    ['piped to -', { typed: '-' }, pipe, 'from b'],
    ['typed on a terminal for -', { typed: '-' }, terminal, 'from b'],
    ['piped in', {}, pipe, 'from b'],
    ['piped to - for --json', { typed: '-', json: true }, pipe, 'from b'],
  ])('is taken %s', (_, input, stdin, sql) =>
    expect(chooseStatement(given(input), stdin, holding('from b'))).toBe(sql),
  )

  it('is undefined on a terminal, without reading stdin', () => {
    expect(chooseStatement(given({}), terminal, unread)).toBeUndefined()
    expect(chooseStatement(given({ json: true }), terminal, unread)).toBeUndefined()
  })

  it.each(['', ' \n'])('is missing for - if stdin is %j, and the error says what to do', (text) => {
    const message = /^query: no statement on stdin\n.*scripstream query "select …".*scripstream query$/
    expect(() => chooseStatement(given({ typed: '-' }), pipe, holding(text))).toThrow(message)
    expect(() => chooseStatement(given({ typed: '-' }), pipe, holding(text))).toThrow(UsageError)
    // A scheduler or a build has no terminal: the tables are listed.
    expect(chooseStatement(given({}), pipe, holding(text))).toBeUndefined()
  })

  it('is undefined for --json alone, because the program may never close the pipe', () => {
    expect(chooseStatement(given({ json: true }), pipe, unread)).toBeUndefined()
  })
})

describe('a slow reader', () => {
  const CHUNKS = 40

  /** A result whose chunks are available at once. */
  const answer = () => {
    let taken = 0
    const chunks = async function* () {
      for (; taken < CHUNKS; taken++) yield { rowCount: 1, getRows: () => [[taken]] }
    }
    const columns = { columnNames: () => ['n'], columnType: () => 'INTEGER' }
    return {
      result: { ...columns, [Symbol.asyncIterator]: chunks } as unknown as DuckDBResult,
      taken: () => taken,
    }
  }

  /** A stdout that is full after every text and drains last; it records what has piled up by then. */
  const slowReader = (until = Number.POSITIVE_INFINITY) => {
    const texts: string[] = []
    const piled: { readonly listeners: number; readonly bytes: number }[] = []
    const stdout = new Writable({
      highWaterMark: 1,
      write: (chunk: Buffer, _, done) => {
        texts.push(String(chunk))
        setImmediate(() => {
          const listeners = stdout.eventNames().reduce((total, name) => total + stdout.listenerCount(name), 0)
          piled.push({ listeners, bytes: stdout.writableLength - chunk.length })
          done(texts.length < until ? null : Object.assign(new Error('gone'), { code: 'EPIPE' }))
        })
      },
    })
    return { stdout: guardStream(stdout, () => undefined), texts, piled }
  }

  it.each(['csv', 'ndjson', 'json'] as const)(
    'applies back-pressure: neither texts nor listeners pile up (%s)',
    async (format) => {
      const { stdout, texts, piled } = slowReader()
      await printResult(answer().result, { format }, { stdout })
      expect(texts.length).toBeGreaterThanOrEqual(CHUNKS)
      expect(piled.filter(({ bytes }) => bytes > 0)).toEqual([])
      expect(new Set(piled.map(({ listeners }) => listeners)).size).toBe(1)
    },
  )

  it('gets no more output after it has closed the pipe', async () => {
    const { stdout, texts } = slowReader(3)
    const { result, taken } = answer()
    await printResult(result, { format: 'ndjson' }, { stdout })
    expect([texts.length, taken()]).toEqual([3, 3])
  })
})

/** What is printed for rows. */
const printRows = async (
  format: 'csv' | 'ndjson' | 'table',
  columns: readonly (readonly [name: string, type: string])[],
  rows: readonly (readonly unknown[])[],
): Promise<string> => {
  const result = {
    columnNames: () => columns.map(([name]) => name),
    columnType: (place: number) => columns[place]?.[1],
    [Symbol.asyncIterator]: async function* () {
      yield { rowCount: rows.length, getRows: () => rows }
    },
  }
  let text = ''
  const stdout = new Writable({
    write: (chunk: Buffer, _, done) => {
      text += String(chunk)
      done()
    },
  })
  await printResult(result as unknown as DuckDBResult, { format }, { stdout })
  return text
}

describe('a result as csv', () => {
  const printed = (format: 'csv' | 'ndjson'): Promise<string> =>
    printRows(
      format,
      [
        ['Title', 'VARCHAR'],
        ['change', 'DOUBLE'],
        ['=name', 'VARCHAR'],
      ],
      [
        ['=HYPERLINK("http://x")', -5, '-0.5'],
        ['@SUM(A1)', 1, '+91 22'],
        ['\t=1', null, '-'],
        ['M&M', 0, '=1'],
      ],
    )

  it('has no formulas, and unchanged numbers', async () => {
    expect(await printed('csv')).toBe(
      [
        "Title,change,'=name",
        '"\'=HYPERLINK(""http://x"")",-5,-0.5',
        "'@SUM(A1),1,'+91 22",
        "'\t=1,,-",
        "M&M,0,'=1",
        '',
      ].join('\n'),
    )
  })

  it('is the only format that escapes formulas', async () => {
    expect(await printed('ndjson')).toContain(
      '{"Title":"=HYPERLINK(\\"http://x\\")","change":-5,"=name":"-0.5"}',
    )
  })
})

describe('a result as a table', () => {
  it('has the first and the last 20 rows', async () => {
    const printNumbers = async (count: number) => {
      const rows = Array.from({ length: count }, (_, place) => [place])
      const text = await printRows('table', [['a', 'INTEGER']], rows)
      return text.split('\n').map((line) => line.trim())
    }
    const lines = await printNumbers(45)
    expect(lines.slice(1, 42)).toEqual(
      Array.from({ length: 41 }, (_, line) => (line === 20 ? '⋮' : String(line < 20 ? line : line + 4))),
    )
    expect(lines).toContain('45 rows (40 shown; --format csv has all)')
    expect(await printNumbers(40)).not.toContain('⋮')
  })

  it('has numbers that people can read, and other formats have all digits', async () => {
    const columns = [
      ['a', 'DOUBLE'],
      ['b', 'DOUBLE'],
    ] as const
    const rows = [
      [66.24123, 150_000.55],
      [-0.000123456, 6.303547036610797],
      [1e-300, 839.4618872249999],
      [1e21, null],
    ]
    const lines = (await printRows('table', columns, rows)).split('\n').map((line) => line.trim().split(/ +/))
    expect(lines.slice(1, 5)).toEqual([
      ['66.24', '150000.55'],
      ['-0.0001235', '6.304'],
      ['1e-300', '839.46'],
      ['1e+21', 'NULL'],
    ])
    expect(await printRows('csv', columns, rows.slice(1, 2))).toContain('-0.000123456,6.303547036610797')
    expect(await printRows('table', [['a', 'DOUBLE']], [[6.303547036610797]])).toContain('6.303547036610797')
  })
})
