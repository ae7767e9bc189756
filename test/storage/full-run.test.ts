import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findChangedFile, listMissingOutputs, readCompleteRun, recordFullRun } from '../../src/storage/full-run.js'
import { statOutputFiles } from '../../src/storage/output-files.js'
import { runReport } from '../cli/support.js'
import { temporaryFolder } from '../support/folders.js'

const run = { run: 'r', asOf: 0, configuration: 'c', report: runReport({}) }

describe('the record of a complete run', () => {
  it('has size and modification time of every output file, and of no other file', async () => {
    const root = temporaryFolder()
    mkdirSync(join(root, 'news', 'a_folder.json'), { recursive: true })
    const files = ['one.json', 'other.json', 'news/a_1.json', 'news/a_2.json', 'news/b_1.json', 'news/a_1.txt']
    for (const file of files) {
      writeFileSync(join(root, file), file)
      utimesSync(join(root, file), 5, 5)
    }
    await recordFullRun(root, {
      run,
      files: await statOutputFiles(root, ['one.json', 'gone.json', 'news/a_*.json', 'gone/*.json']),
      isComplete: true,
    })
    const noted = await readCompleteRun(root)
    expect(noted).toEqual({ run, files: { 'one.json': [8, 5_000], 'news/a_1.json': [13, 5_000], 'news/a_2.json': [13, 5_000] } })
  })

  it('finds the changed file among many', async () => {
    const root = temporaryFolder()
    const names = Array.from({ length: 1_200 }, (_, place) => `${place}.json`)
    for (const name of names) writeFileSync(join(root, name), 'x')
    await recordFullRun(root, { run, files: await statOutputFiles(root, ['*.json']), isComplete: true })
    const noted = await readCompleteRun(root)
    expect(Object.keys(noted?.files ?? {})).toHaveLength(1_200)
    expect(noted && (await findChangedFile(noted, root))).toBeUndefined()
    rmSync(join(root, '1100.json'))
    expect(noted && (await findChangedFile(noted, root))).toBe('1100.json')
    rmSync(join(root, '7.json'))
    writeFileSync(join(root, '8.json'), 'changed')
    expect((noted && (await listMissingOutputs(noted, root)))?.toSorted()).toEqual(['1100.json', '7.json'])
  })
})
