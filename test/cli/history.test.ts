import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runProgram } from '../../src/cli/program.js'
import { writeDay } from '../../src/storage/history/history-folder.js'
import { temporaryFolder } from '../support/folders.js'
import { createTestDependencies, createTestIo } from './support.js'

const DAYS = ['2026-02-09', '2026-02-10', '2026-02-11']

const folderWithDays = async (): Promise<string> => {
  const out = temporaryFolder()
  for (const day of DAYS) {
    const entry = (stream: string) => ({ stream, knownAt: `${day}T12:30:00.000Z`, bytes: Buffer.from('x') })
    await writeDay(out, { day, entries: { 'a.json': entry('a'), ...(day === '2026-02-10' ? {} : { 'b.json': entry('b') }) } })
  }
  return out
}

const history = async (out: string, ...args: readonly string[]) => {
  const io = createTestIo({ out: { columns: 80 } })
  const code = await runProgram(['history', ...args, '--out', out], io, createTestDependencies())
  return { code, text: io.out.text(), err: io.err.text() }
}

describe('history', () => {
  it('shows the newest days with what they lack, and the sums', async () => {
    const { code, text } = await history(await folderWithDays(), '--limit', '2')
    expect(code).toBe(0)
    expect(text).toMatch(/^2026-02-10 +2026-02-10 18:00 IST .*without b$/m)
    expect(text).toMatch(/^2026-02-11 .* all$/m)
    expect(text).toContain('and 1 earlier day')
    expect(text).toContain('3 days from 2026-02-09 to 2026-02-11')
  })

  it('says that nothing is recorded yet', async () => {
    expect((await history(temporaryFolder())).text).toContain('No day is recorded in')
  })

  it.each([['prune'], ['prune', '--before', '2026-02-31'], ['compact', '--before', '2026-02-10'], ['drop']])(
    'changes nothing after wrong arguments: %s %s %s',
    async (...args) => {
      const out = await folderWithDays()
      expect((await history(out, ...args)).code).toBe(2)
      expect(readdirSync(join(out, '.scripstream', 'history'))).toEqual(DAYS.map((day) => `${day}.day`))
    },
  )

  it('deletes the days before a day, and names them', async () => {
    const out = await folderWithDays()
    const { code, text } = await history(out, 'prune', '--before', '2026-02-11')
    expect(code).toBe(0)
    expect(text).toMatch(/2026-02-09\.day[\s\S]*2026-02-10\.day[\s\S]*Deleted 2 files/)
    expect(readdirSync(join(out, '.scripstream', 'history'))).toEqual(['2026-02-11.day'])
    expect((await history(out, 'compact')).text).toBe('Nothing to delete.\n')
  })
})
