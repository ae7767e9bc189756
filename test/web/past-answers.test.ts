import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { ShowRequest, ShowRunner } from '../../src/show/index.js'
import { rememberPast } from '../../src/web/server/past-answers.js'
import { folderWith } from '../tables/support.js'

const RECORD = '.scripstream/history/2026-02-11/20260211T150000Z/record.json'

/** A folder with a recorded day, and answers that count how often they are made. */
const createAnswers = (size = 1) => {
  const out = folderWith({ 'master_isin_map.json': [], [RECORD]: '{}' })
  let made = 0
  const show = rememberPast(out, (async () => ({
    number: ++made,
    text: 'x'.repeat(size),
  })) as unknown as ShowRunner)
  const read = async (changes: Partial<ShowRequest> = {}) => {
    const answer: unknown = await show({ show: 'market', day: '2026-02-11', ...changes } as ShowRequest)
    return (answer as { readonly number: number }).number
  }
  return { out, read }
}

it('makes an answer about a recorded day once, for each question', async () => {
  const { read } = createAnswers()
  expect([await read(), await read()]).toEqual([1, 1])
  expect([await read({ show: 'today' }), await read({ day: '2026-02-10' }), await read()]).toEqual([2, 3, 1])
})

it('makes it again once the record is rewritten, another run has recorded the day, or the files of now are replaced', async () => {
  const { out, read } = createAnswers()
  expect(await read()).toBe(1)
  writeFileSync(join(out, RECORD), '{"other":1}')
  expect([await read(), await read()]).toEqual([2, 2])
  const other = join(out, '.scripstream/history/2026-02-11/20260211T160000Z')
  mkdirSync(other)
  expect([await read(), await read()]).toEqual([3, 3])
  writeFileSync(join(out, 'master_isin_map.json'), '[ ]')
  expect([await read(), await read()]).toEqual([4, 4])
})

it('does not make it again for a later day that is recorded', async () => {
  const { out, read } = createAnswers()
  expect(await read()).toBe(1)
  mkdirSync(join(out, '.scripstream/history/2026-02-12/20260212T150000Z'), { recursive: true })
  expect(await read()).toBe(1)
})

it('keeps no answer of now, no refusal, and no more than its limit', async () => {
  const { read } = createAnswers(4_000_000)
  expect(await read({ day: undefined } as object)).toBe(1)
  expect(await read({ day: undefined } as object)).toBe(2)
  expect([await read({ name: 'a' }), await read({ name: 'b' }), await read({ name: 'c' })]).toEqual([3, 4, 5])
  expect([await read({ name: 'b' }), await read({ name: 'a' })]).toEqual([4, 6])
  let calls = 0
  const failing = rememberPast(folderWith({}), async () => {
    calls += 1
    throw new Error('refused')
  })
  for (let times = 0; times < 2; times++)
    await expect(failing({ show: 'market', day: '2026-02-11' })).rejects.toThrow('refused')
  expect(calls).toBe(2)
})
