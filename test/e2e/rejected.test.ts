import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { snapshotFolder, temporaryFolder } from '../support/folders.js'
import { provider, run } from './command.js'

it('changes nothing in the output folder when a command is rejected', async () => {
  const { env } = await provider()
  const place = { cwd: temporaryFolder(), env }
  const out = join(place.cwd, 'data')
  const dayArgs = ['run', '--as-of', '2026-02-12T20:00:00+05:30']
  const only = ['--only', 'market-news,fundamental-data']
  expect((await run([...dayArgs, ...only], place)).code).toBe(0)
  const before = snapshotFolder(out)
  writeFileSync(join(place.cwd, 'wrong.json'), '{"options":{"market-news":{"newsLimit":"many"}}}')
  const rejected: readonly (readonly string[])[] = [
    ['--symbols', 'TCSS'],
    ['--config', 'wrong.json'],
    ['--simulate=12'],
  ]
  for (const flags of rejected) {
    const { code, stderr } = await run([...dayArgs, ...flags], place)
    expect(code, stderr).toBe(2)
    expect(snapshotFolder(out), flags.join(' ')).toEqual(before)
  }
  const again = await run([...dayArgs, ...only], place)
  expect(again.stdout).toContain('Up to date')
})
