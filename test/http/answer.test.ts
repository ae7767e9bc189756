import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { csv, json, pageJson, wrappedJson } from '../../src/http/answer.js'
import { BadAnswerError } from '../../src/model/errors.js'
import { badAnswerOf } from './support.js'

const Any = z.looseObject({ data: z.unknown() })

const GOLDEN = [
  '{"data":[{"Sym":"M&M","Isin":"INE101A01026","Mcap":null,"Sid":2031,"DispSym":"Mahindra ₹ \\"quoted\\" \\u20b9"}],"tot_rec":1}',
  '{"success":true,"data":{"Time":[1770834600],"o":[1.5],"h":[2],"l":[-1],"c":[1e3],"v":[0]}}',
  '{"data":{"latest_news":[{"news_object":{"title":"","text":"a\\nb"},"publish_date":1770890400000,"category":"x"}]}}',
  '{"status":"success","data":{"CV":{"PE":"12.5"},"list":[[],{},true,false,null]}}',
]

describe('json', () => {
  it.each(GOLDEN)('returns the data of %s unchanged, in their key order', (text) => {
    expect(JSON.stringify(json(Any)(text).data)).toBe(JSON.stringify(JSON.parse(text).data))
  })

  it('refuses every prefix of an answer', () => {
    for (const text of GOLDEN) {
      for (let length = 0; length < text.length; length += 1) {
        expect(badAnswerOf(json(Any), text.slice(0, length)), text.slice(0, length)).toBeInstanceOf(
          BadAnswerError,
        )
      }
    }
  })

  it('refuses every prefix of a generated answer', () => {
    const answer = fc.record({ data: fc.jsonValue() }).map((value) => JSON.stringify(value))
    fc.assert(
      fc.property(
        answer,
        fc.nat(),
        (text, length) => badAnswerOf(json(Any), text.slice(0, length % text.length)) !== undefined,
      ),
      { numRuns: 2_000 },
    )
  })

  it.each([
    '<html><body>Service unavailable</body></html>',
    '\n  <!DOCTYPE html>',
    '<HTML><TITLE>Access Denied',
  ])('rejects an HTML page with the reason html: %j', (text) => {
    expect(badAnswerOf(json(Any), text)).toMatchObject({ reason: 'html' })
  })

  it.each(['', ' \n'])('rejects %j as empty', (text) =>
    expect(badAnswerOf(json(Any), text)).toMatchObject({
      reason: 'parse',
      message: expect.stringContaining('empty'),
    }),
  )

  it.each(['NaN', '{"data":Infinity}', "{'data':1}", '{"data":1}}', 'Too Many Requests'])(
    'rejects %j as invalid JSON',
    (text) => {
      expect(badAnswerOf(json(Any), text)).toMatchObject({
        reason: 'parse',
        message: expect.stringContaining('JSON'),
      })
    },
  )

  it('names the field with the wrong shape', () => {
    const Rows = z.looseObject({ data: z.array(z.looseObject({ Sym: z.string() })) })
    expect(badAnswerOf(json(Rows), '{"data":[{"Sym":"A"},{"Sym":1}]}')).toMatchObject({
      reason: 'schema',
      message: expect.stringContaining('data.1.Sym'),
    })
    expect(badAnswerOf(json(Rows), '[]')).toMatchObject({ reason: 'schema' })
  })

  it('uses the last of two fields or columns with the same name', () => {
    expect(json(Any)('{"data":1,"data":2}').data).toBe(2)
    expect(csv(['Symbol'])('Symbol,Symbol\nA,B\n')).toEqual([{ Symbol: 'B' }])
  })

  it('never lets a key of an answer reach a prototype', () => {
    const read = json(z.looseObject({ data: z.array(z.unknown()) }))(
      '{"data":[{"__proto__":{"isAdmin":true}}],"__proto__":{"isAdmin":true}}',
    )
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
    expect('isAdmin' in {}).toBe(false)
    expect(read.isAdmin).toBeUndefined()
  })
})

describe('an answer that is nested', () => {
  const Free = z.looseObject({ data: z.unknown() })
  const nestedIn = (text: string, open: string, close: string, levels: number): string =>
    `{"data":${open.repeat(levels)}${text}${close.repeat(levels)}}`
  const tooDeep = { reason: 'schema', message: expect.stringContaining('64 levels deep') }

  it.each([
    ['lists', '[', ']'],
    ['records', '{"a":', '}'],
  ])('reads 64 levels of %s and refuses one more', (_, open, close) => {
    expect(badAnswerOf(json(Free), nestedIn('1', open, close, 63))).toBeUndefined()
    expect(badAnswerOf(json(Free), nestedIn('1', open, close, 64))).toMatchObject(tooDeep)
  })

  it('is refused wherever the deep part is, whatever brackets its strings contain', () => {
    const deep = `${'[1,{"a":'.repeat(40)}0${',"b":2}]'.repeat(40)}`
    for (const before of ['', '"}}]]",', `${'{"a":[]},'.repeat(200)}`, `"${']}'.repeat(500)}",`])
      for (const after of ['', ',"[[{{"', `${',{"a":[]}'.repeat(200)}`, `,"${'[{'.repeat(500)}"`])
        expect(badAnswerOf(json(Free), `{"data":[${before}${deep}${after}]}`), before + after).toMatchObject(
          tooDeep,
        )
  })

  it('measures the same depth as a plain walk', () => {
    const depthOf = (value: unknown): number =>
      typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
    const value = fc
      .tuple(fc.jsonValue({ maxDepth: 6 }), fc.nat(70), fc.nat(3), fc.string())
      .map(([inner, levels, lists, text]) => {
        let nested: unknown = inner
        for (let level = 0; level < levels; level += 1)
          nested = level % 3 === lists ? [text, nested] : { [text]: level, a: nested, b: [text] }
        return { data: nested }
      })
    fc.assert(
      fc.property(
        value,
        (given) => (badAnswerOf(json(Free), JSON.stringify(given)) !== undefined) === depthOf(given) > 64,
      ),
      { numRuns: 2_000 },
    )
  })

  it.each([
    ['json', json(Free), (deep: string) => `{"data":${deep}}`],
    ['wrappedJson', wrappedJson(Free), (deep: string) => `setResponse({"data":${deep}});`],
    ['pageJson', pageJson(Free), (deep: string) => `<script id="__NEXT_DATA__">{"data":${deep}}</script>`],
  ])('200,000 levels deep is refused by %s before anything recurses over it', (_, read, around) => {
    expect(badAnswerOf(read, around('['.repeat(200_000) + ']'.repeat(200_000)))).toMatchObject(tooDeep)
    expect(badAnswerOf(read, around(`${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`))).toMatchObject(
      tooDeep,
    )
    expect(badAnswerOf(read, around('['.repeat(200_000)))).toBeInstanceOf(BadAnswerError)
  })
})

it.each(['success', 'status', 'code', 'error', 'errors', 'message'])(
  'accepts a record in the field %s',
  (field) => {
    const text = JSON.stringify({ data: null, [field]: { toString: 1, valueOf: 2 } })
    const failure = badAnswerOf(json(Any), text)
    if (failure !== undefined) expect(failure.reason).toBe('schema')
  },
)

describe('wrappedJson', () => {
  const read = wrappedJson(z.looseObject({ table: z.unknown() }))
  const inside = '{"table":{"rows":["setResponse(x);",")"]}}'

  it.each([
    `google.visualization.Query.setResponse(${inside});`,
    `/*O_o*/\ngoogle.visualization.Query.setResponse(${inside});`,
    `setResponse(${inside})`,
    `setResponse( ${inside} ) ;\n`,
  ])('reads the JSON inside %j', (text) => expect(read(text)).toEqual(JSON.parse(inside)))

  it('refuses every prefix without the complete JSON', () => {
    const text = `/*O_o*/\ngoogle.visualization.Query.setResponse(${inside});`
    for (let length = 0; length < text.length - 2; length += 1)
      expect(badAnswerOf(read, text.slice(0, length))).toBeInstanceOf(BadAnswerError)
  })

  it('rejects an HTML page with the reason html', () =>
    expect(badAnswerOf(read, '<html>Sign in</html>')).toMatchObject({ reason: 'html' }))
})

describe('csv', () => {
  it('ignores a nameless empty column, such as a comma at the end of each line', () => {
    const seen: unknown[] = []
    const read = csv(['A', 'B'])
    for (const text of ['A,B,\n1,2,\n3,4,\n', 'A,B\n1,2,\n3,4,,\n', 'A,,B\n1,,2\n3,,4\n'])
      expect(read(text, undefined, (records) => seen.push([records].flat()[0]))).toEqual([
        { A: '1', B: '2' },
        { A: '3', B: '4' },
      ])
    expect(seen).toEqual([
      { A: '', B: '' },
      { A: '', B: '' },
      { A: '', B: '' },
    ])
    // One with cells is a column, and a cell without a column is an error.
    expect(read('A,B,\n1,2,3\n')).toEqual([{ A: '1', B: '2', '': '3' }])
    expect(() => read('A,B\n1,2,3\n')).toThrow('more cells than its header')
  })

  const read = csv(['Symbol', 'Band'])

  it('trims headers and cells and keeps them as text', () => {
    expect(read(' Symbol ,Series, Band\r\n M&M ,EQ, 05.00 \r\nA B,, \n')).toEqual([
      { Symbol: 'M&M', Series: 'EQ', Band: '05.00' },
      { Symbol: 'A B', Series: '', Band: '' },
    ])
  })

  it('reads quoted cells with commas, quotes and line ends', () => {
    expect(read('Symbol,Band\n"A, ""B""\nC",2\n')).toEqual([{ Symbol: 'A, "B"\nC', Band: '2' }])
  })

  it('skips a byte order mark and empty lines', () => {
    expect(read('\uFEFFSymbol,Band\n\nA,2\n\n')).toEqual([{ Symbol: 'A', Band: '2' }])
  })

  it.each([
    ['Symbol,Band\r\nA,2\nB,5\rC,10\n'],
    ['Symbol,Band\nA,2\r\nB,5\rC,10'],
    ['Symbol,Band\rA,2\nB,5\r\nC,10\r\n'],
    ['Symbol,Band\r\r\nA,2\r\r\nB,5\n\rC,10\r'],
  ])('reads every record of %j with mixed line ends', (text) => {
    expect(read(text)).toEqual([
      { Symbol: 'A', Band: '2' },
      { Symbol: 'B', Band: '5' },
      { Symbol: 'C', Band: '10' },
    ])
  })

  it('names the columns that are missing', () => {
    expect(badAnswerOf(read, 'Symbol,Series\nA,EQ\n')).toMatchObject({
      reason: 'schema',
      message: expect.stringContaining('Band'),
    })
    expect(badAnswerOf(read, '')).toMatchObject({ message: expect.stringMatching(/Symbol.*Band/) })
  })

  it.each(['Symbol,Band\nA,2\nB\n', 'Symbol,Band\nA,2,3\n', 'Symbol,Band\n"A,2\n'])(
    'refuses %j, whose rows do not match the header',
    (text) => {
      expect(badAnswerOf(read, text)).toBeInstanceOf(BadAnswerError)
    },
  )

  it('rejects an HTML page with the reason html', () =>
    expect(badAnswerOf(read, '<html>Symbol,Band</html>')).toMatchObject({ reason: 'html' }))

  it('accepts a column named like a property of Object.prototype', () => {
    const [row] = read('Symbol,Band,__proto__\nA,2,x\n')
    expect(JSON.stringify(row)).toBe('{"Symbol":"A","Band":"2","__proto__":"x"}')
  })
})
