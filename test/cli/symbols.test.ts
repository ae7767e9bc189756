import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readSymbols } from '../../src/cli/options.js'
import { loadSettings } from '../../src/config.js'
import { UsageError } from '../../src/model/errors.js'

const createFolder = (path: string): string => {
  const folder = mkdtempSync(path)
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const fileWith = (content: string, name = 'given'): string => {
  const path = join(createFolder(join(tmpdir(), 'scripstream-')), name)
  writeFileSync(path, content)
  return path
}

const read = (text: string, watchlists = {}) => readSymbols(text, { watchlists })

describe('--symbols', () => {
  test('takes a list, trimmed, each symbol once; a wrong one is an error', () => {
    expect(read(' TCS, M&M,,TCS ,BAJAJ-AUTO')).toEqual({
      symbols: ['TCS', 'M&M', 'BAJAJ-AUTO'],
      wrongSymbols: 'reject',
    })
  })

  test('reads a file with a symbol per line or commas between, and comments; wrong ones are reported', () => {
    const path = fileWith('\ufeff# mine\r\nTCS\r\nINFY, M&M # both\n\n#ITC\n\rTCS\n')
    expect(read(`@${path}`)).toEqual({ symbols: ['TCS', 'INFY', 'M&M'], wrongSymbols: 'report' })
  })

  test('reads a watchlist of the settings, or its file relative to the settings file', () => {
    const configFile = fileWith(
      '{ "watchlists": { "mine": ["TCS", " INFY"], "banks": "@lists/banks.txt", "same": "@banks.txt" } }',
      'c.json',
    )
    const { watchlists } = loadSettings({ configFile, streams: [] })
    writeFileSync(join(configFile, '../banks.txt'), 'SBIN\nAXISBANK\n')
    expect(read('@mine', watchlists)).toEqual({ symbols: ['TCS', 'INFY'], wrongSymbols: 'report' })
    expect(read('@same', watchlists)).toEqual({ symbols: ['SBIN', 'AXISBANK'], wrongSymbols: 'report' })
    expect(() => read('@banks', watchlists)).toThrow(
      `the file ${JSON.stringify(join(configFile, '../lists/banks.txt'))} cannot be read`,
    )
  })

  test('names the watchlists if there is none of this name, and suggests one', () => {
    expect(() => read('@bank', { mine: ['A'], banks: ['B'] })).toThrow(
      '--symbols: there is no watchlist and no file "bank" (did you mean @banks?); watchlists: mine, banks',
    )
    expect(() => read('@mine')).toThrow(
      'no watchlist and no file "mine"; give the path of a file, or set "watchlists"',
    )
    expect(() => read('@constructor')).toThrow('no watchlist and no file')
  })

  test('refuses a name that is a watchlist and a file', () => {
    const name = `both${process.pid}`
    writeFileSync(name, 'A')
    onTestFinished(() => rmSync(name))
    expect(read(`@${name}`)).toMatchObject({ symbols: ['A'] })
    expect(read('@src', { src: ['B'] })).toMatchObject({ symbols: ['B'] })
    expect(() => read(`@${name}`, { [name]: ['A'] })).toThrow(
      `${name} is a watchlist in the settings and also a file; write @./${name}`,
    )
  })

  test.each(['', ',', '@/nowhere/at/all', '@nowhere.txt', '@'])('"%s" is refused', (text) => {
    expect(() => read(text)).toThrow(UsageError)
  })

  test('a file without a symbol is refused', () =>
    expect(() => read(`@${fileWith('# nothing\n')}`)).toThrow('no symbol in'))

  test.each([{ mine: [] }, { mine: 'TCS' }, { mine: 1 }, { 'my list': ['A'] }])(
    'the watchlists %j are refused',
    (watchlists) => {
      const configFile = fileWith(JSON.stringify({ watchlists }), 'c.json')
      expect(() => loadSettings({ configFile, streams: [] })).toThrow(UsageError)
    },
  )
})
