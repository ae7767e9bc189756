import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { parseAsOf, readInteger, readJsonFile, readStreams } from '../../src/cli/options.js'
import { UsageError } from '../../src/model/errors.js'
import { findClosest } from '../../src/model/text.js'

const fileWith = (content: string): string => {
  const path = join(mkdtempSync(join(tmpdir(), 'scripstream-')), 'given')
  writeFileSync(path, content)
  return path
}

describe('--as-of', () => {
  test.each([
    ['2026-02-12', '2026-02-12T18:29:59.000Z'],
    ['2024-02-29', '2024-02-29T18:29:59.000Z'],
    ['2026-02-12T20:00:00+05:30', '2026-02-12T14:30:00.000Z'],
    ['2026-02-12T14:30:00Z', '2026-02-12T14:30:00.000Z'],
    ['2026-02-12T14:30:00.250Z', '2026-02-12T14:30:00.250Z'],
  ])('%s is the instant %s', (text, instant) => expect(new Date(parseAsOf(text)).toISOString()).toBe(instant))

  test.each([
    '2024-02-30',
    '2023-02-29',
    '02-01-2024',
    '2026-2-1',
    '2026-02-12T20:00:00',
    '2026-02-30T20:00:00Z',
    '2026-02-12T25:00:00Z',
    '2026-02-12 ',
    'now',
    '',
  ])('rejects "%s" and names the flag', (text) => {
    expect(() => parseAsOf(text)).toThrow(UsageError)
    expect(() => parseAsOf(text)).toThrow(/^--as-of: /)
  })
})

describe('--only and --skip', () => {
  const known = ['market-news', 'all-indices', 'master-data']
  const streams = known.map((name) => ({
    name,
    outputs: [
      { shape: 'text', file: 'x', tables: [{ name: `${name}_table`, about: '', columns: [] }] },
    ] as const,
  }))

  test('take names, each once', () => {
    expect(readStreams('--only', 'market-news, all-indices,market-news', streams)).toEqual([
      'market-news',
      'all-indices',
    ])
  })

  test('suggest the closest name', () => {
    expect(() => readStreams('--only', 'market-new', streams)).toThrow(
      /^--only: unknown stream "market-new" \(did you mean market-news\?\)/,
    )
  })

  test.each([
    ['nws', 'market-news'],
    ['indices_table', undefined],
    ['all-indices_table', 'all-indices'],
    ['dta', 'master-data'],
  ])('suggest the stream with this word or table: %s', (name, meant) => {
    expect(() => readStreams('--only', name, streams)).toThrow(
      `unknown stream "${name}"${meant === undefined ? '' : ` (did you mean ${meant}?)`}\n`,
    )
  })

  test('suggest nothing if no name is close', () => {
    expect(() => readStreams('--skip', 'zzz', streams)).toThrow(/^--skip: unknown stream "zzz"\n/)
  })

  test('reject an empty list', () => expect(() => readStreams('--only', ' ,', streams)).toThrow(UsageError))

  test('find the closest name in spite of case and swapped letters', () => {
    expect([
      findClosest('MARKET-NEWS', known),
      findClosest('all-indcies', known),
      findClosest('', known),
    ]).toEqual(['market-news', 'all-indices', undefined])
  })
})

describe('whole numbers', () => {
  test('are taken within their bounds, both included', () => {
    expect([readInteger('--port', '0', 0, 65_535), readInteger('--port', '65535', 0, 65_535)]).toEqual([
      0, 65_535,
    ])
  })

  test.each(['-1', '65536', '1.5', '1e3', '0x10', ' 1', '', 'abc'])('"%s" is refused', (text) => {
    expect(() => readInteger('--port', text, 0, 65_535)).toThrow(
      /^--port: .* is not a whole number from 0 to 65535$/,
    )
  })
})

describe('a JSON file', () => {
  const Names = z.array(z.string())

  test('is read and checked', () => expect(readJsonFile('--faults', fileWith('["a"]'), Names)).toEqual(['a']))

  test.each([
    ['/nowhere', /--faults: the file "\/nowhere" cannot be read/],
    [fileWith('{'), /--faults: .* is not JSON/],
    [fileWith('[1]'), /--faults: .* has invalid content[\s\S]*0 must be a text/],
  ])('%s is refused with the flag and the reason', (path, message) => {
    expect(() => readJsonFile('--faults', path, Names)).toThrow(UsageError)
    expect(() => readJsonFile('--faults', path, Names)).toThrow(message)
  })
})
