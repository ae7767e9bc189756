import { expect, it } from 'vitest'
import { watchlist } from './watchlist.js'

it('runs the example of the README', async () => {
  const lines: string[] = []
  await watchlist((line) => lines.push(line))
  expect(lines.filter((line) => line.startsWith('M&M ')).length).toBeGreaterThan(0)
  expect(lines.at(-1)).toMatch(/^complete: \d+ files in memory$/)
})
