import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { withBlocks } from './support/readme.js'

const path = new URL('../README.md', import.meta.url)

/** After a change, `UPDATE_README=1 npx vitest run test/readme.test.ts` writes the blocks anew. */
it('shows the graph, the outputs, the settings and the example as the code has them', () => {
  const readme = readFileSync(path, 'utf8')
  const expected = withBlocks(readme, readFileSync(new URL('./examples/watchlist.ts', import.meta.url), 'utf8'))
  if (process.env.UPDATE_README) writeFileSync(path, expected)
  else expect(readme).toBe(expected)
})
