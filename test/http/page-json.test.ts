import fc from 'fast-check'
import { Parser } from 'htmlparser2'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { pageJson } from '../../src/http/answer.js'
import { buildIdPage } from '../../src/market/web-source.js'
import { BadAnswerError } from '../../src/model/errors.js'
import { badAnswerOf } from './support.js'

/** The first script element `__NEXT_DATA__` as an HTML parser finds it. */
const oracle = (page: string): string | undefined => {
  let text: string | undefined
  let isInside = false
  let isOver = false
  const parser = new Parser({
    onopentag: (name, { id }) => {
      isInside = !isOver && name === 'script' && id === '__NEXT_DATA__'
      if (isInside) text = ''
    },
    ontext: (part) => {
      if (isInside) text += part
    },
    onclosetag: (name) => {
      if (isInside && name === 'script') isOver = true
      isInside = false
    },
  })
  parser.end(page)
  return text
}

describe('pageJson', () => {
  const read = pageJson(z.looseObject({ props: z.unknown() }))
  const pageWith = (element: string): string =>
    `<!DOCTYPE html><html><head><script src="/a.js"></script></head><body><div id="__next">&lt;</div>${element}</body></html>`

  it.each([
    [
      'as the site writes it',
      '<script id="__NEXT_DATA__" type="application/json">{"props":{"a":"&amp; < > \\u003c/script>"}}</script>',
    ],
    [
      'with more attributes',
      '<script id="__NEXT_DATA__" type="application/json" crossorigin="anonymous" nonce="x">{"props":1}</script>',
    ],
    [
      'with other attributes first',
      '<script type="application/json" id="__NEXT_DATA__">{"props":2}</script>',
    ],
    ['in single quotes', "<script id='__NEXT_DATA__' type='application/json'>{\"props\":3}</script>"],
    ['with space in the tags', '<script  id="__NEXT_DATA__" >\n{"props":4}\n</script >'],
    ['in capitals', '<SCRIPT id="__NEXT_DATA__">{"props":5}</SCRIPT>'],
    [
      'behind another id',
      '<script id="other">1</script><script id="__NEXT_DATA__X">2</script><script id="__NEXT_DATA__">{"props":7}</script>',
    ],
    [
      'behind another script',
      '<script>var x = "</div>"</script><script id="__NEXT_DATA__">{"props":6}</script>',
    ],
  ])('finds what an HTML parser finds: %s', (_, element) => {
    const page = pageWith(element)
    expect(read(page)).toEqual(JSON.parse(oracle(page) ?? 'null'))
  })

  it('finds what an HTML parser finds, whatever the JSON contains', () => {
    const value = fc
      .record({ props: fc.jsonValue() })
      .map((inside) => JSON.stringify(inside).replaceAll('</', '<\\/').replaceAll('<!--', '<\\!--'))
    fc.assert(
      fc.property(value, fc.constantFrom('', ' nonce="1"'), (inside, more) => {
        const page = pageWith(`<script id="__NEXT_DATA__" type="application/json"${more}>${inside}</script>`)
        expect(read(page)).toEqual(JSON.parse(oracle(page) ?? 'null'))
      }),
      { numRuns: 500 },
    )
  })

  it.each([
    ['tags that never end', '<script'],
    ['tags with a blank', '<script '],
    ['quotes that never close', '<script "'],
    ['other scripts', '<script id="other"></script>'],
    ['scripts nearly of that name', '<script id="__NEXT_DATA__X"></script>'],
    ['scripts that never close', '<script>'],
    ['comments', '<!---->'],
    ['comments that never close', '<!--'],
    ['blanks in an attribute', '<script id   =  x></script>'],
    ['closing tags cut short', '</script'],
    ['build ids cut short', '"buildId":"'],
    ['blanks after a name', '"buildId"      '],
    ['chunks that never close', '__next_f.push([1,"'],
    ['escaped characters', '__next_f.push([1,"\\\\n'],
    ['chunks without an id', '__next_f.push([1,"\\\\"b"])'],
  ])('scans 2 MB of %s only once', (_, piece) => {
    for (const before of ['', '<script>', '<script id="__NEXT_DATA__">', '<script ']) {
      const text = before + piece.repeat(2e6 / piece.length)
      for (const look of [read, (page: string) => buildIdPage.read(page, {})]) {
        const begun = performance.now()
        badAnswerOf(look, text)
        // Milliseconds in linear time; minutes in quadratic time.
        expect(performance.now() - begun, before).toBeLessThan(10_000)
      }
    }
  })

  it.each(['<script ', '<script "', '<script x="', "<script '"])(
    'gives up on a tag of 50 MB that begins with %j',
    (before) => {
      for (const piece of ['x', '"a"', ' '])
        expect(badAnswerOf(read, before + piece.repeat(5e7 / piece.length)), piece).toBeInstanceOf(
          BadAnswerError,
        )
    },
  )

  it.each(['', '<html></html>', '{"props":1}', pageWith('<script id="other">{"props":1}</script>')])(
    'refuses %j, which has no such element',
    (page) => {
      expect(badAnswerOf(read, page)).toBeInstanceOf(BadAnswerError)
    },
  )

  it('refuses every prefix without the complete element', () => {
    const element = '<script id="__NEXT_DATA__" type="application/json">{"props":{"list":[1,2]}}</script>'
    const page = pageWith(element)
    for (let length = 0; length < page.indexOf(element) + element.length; length += 1)
      expect(badAnswerOf(read, page.slice(0, length)), page.slice(0, length)).toBeInstanceOf(BadAnswerError)
  })
})
