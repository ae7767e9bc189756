import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  findChangedFile,
  listMissingOutputs,
  readFullRun,
  recordFullRun,
} from '../../src/storage/full-run.js'
import { runReport } from '../cli/support.js'
import { recordDigests } from '../support/digests.js'
import { temporaryFolder } from '../support/folders.js'

const run = { run: 'r', asOf: 0, configuration: 'c', report: runReport({}) }

const recorded = async (files: readonly string[], outputs: readonly string[]) => {
  const root = temporaryFolder()
  mkdirSync(join(root, 'news'))
  for (const file of files) writeFileSync(join(root, file), file)
  recordDigests(root, files)
  await recordFullRun(root, { run, outputs, isComplete: true })
  const noted = await readFullRun(root)
  if (noted === undefined) throw new Error('nothing was recorded')
  return { root, noted, findChanged: () => findChangedFile(noted, root) }
}

describe('the record of a complete run', () => {
  it('finds a changed output, and no other file', async () => {
    const outputs = ['one.json', 'gone.json', 'news/a_*.json', 'gone/*.json']
    const { root, noted, findChanged } = await recorded(
      ['one.json', 'other.json', 'news/a_1.json', 'news/b_1.json'],
      outputs,
    )
    expect(noted).toEqual({ run, outputs, isComplete: true })
    for (const file of ['other.json', 'news/b_1.json', 'news/a_2.json'])
      writeFileSync(join(root, file), 'changed')
    expect(await findChanged()).toBeUndefined()
    utimesSync(join(root, 'news/a_1.json'), 5, 5)
    expect(await findChanged()).toBe('news/a_1.json')
  })

  it('finds the changed file among many', async () => {
    const { root, noted, findChanged } = await recorded(
      Array.from({ length: 1_200 }, (_, place) => `${place}.json`),
      ['*.json'],
    )
    expect(await findChanged()).toBeUndefined()
    rmSync(join(root, '1100.json'))
    expect(await findChanged()).toBe('1100.json')
    rmSync(join(root, '7.json'))
    writeFileSync(join(root, '8.json'), 'changed')
    expect((await listMissingOutputs(noted, root)).toSorted()).toEqual(['1100.json', '7.json'])
  })

  it('counts as changed without the digests of its outputs', async () => {
    const { root, findChanged } = await recorded(['one.json'], ['one.json'])
    rmSync(join(root, '.scripstream', 'output-digests'))
    expect(await findChanged()).toBe('.scripstream/output-digests')
  })
})
