import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { UsageError } from '../../src/model/errors.js'
import { readHolidays } from '../../src/storage/holidays.js'
import { temporaryFolder } from '../support/folders.js'

const fileOf = (text: string): string => {
  const path = join(temporaryFolder(), 'holidays.txt')
  writeFileSync(path, text)
  return path
}

const errorOf = (path: string): UsageError => {
  try {
    readHolidays(path)
  } catch (error) {
    if (error instanceof UsageError) return error
    throw error
  }
  throw new Error('nothing was wrong')
}

it('has no holidays without a file, or in an empty one', () => {
  expect(readHolidays(undefined)).toEqual(new Set())
  expect(readHolidays(fileOf(''))).toEqual(new Set())
})

it('reads one day a line, with comments, blanks and the line ends of any system', () => {
  const text = '\ufeff# NSE, 2026\r\n2026-01-26  # Republic Day\r\n\r\n  2026-03-03\n2026-01-26'
  expect(readHolidays(fileOf(text))).toEqual(new Set(['2026-01-26', '2026-03-03']))
})

it.each(['26-01-2026', '2026-1-26', '2026-02-30', '2026-01-26 Republic Day', '2026-01-26,2026-03-03', 'none'])('refuses %j', (line) => {
  const path = fileOf(`# 2026\n2026-03-03\n${line}\n`)
  const { message, issues } = errorOf(path)
  expect(message).toBe(`holidays: ${path}:3: invalid date ${JSON.stringify(line)}; use YYYY-MM-DD, one a line`)
  expect(issues).toEqual([{ path: 'holidays', message }])
})

it('names a file that is missing', () => {
  const path = join(temporaryFolder(), 'gone.txt')
  expect(errorOf(path).message).toMatch(`holidays: the file ${JSON.stringify(path)} cannot be read: `)
})
