import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { firstValueFrom, lastValueFrom, Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { folder } from '../../sinks/folder.js'
import type { Session } from '../../src/pipeline/session.js'
import { filesIn, temporaryFolder } from './support.js'

const RECORD = { run: 'r', asOf: 0, configuration: 'c' }

/** A folder in the hands of a run, and the way to give it back. */
const held = async (root: string) => {
  const storage = folder(root)
  const begun$ = new Subject<Session>()
  const began = firstValueFrom(begun$)
  const holding = storage
    .begin({ folders: ['', 'news'], streams: [], outputs: [], suffices: () => false, isPartOf: () => false, choose: () => RECORD })
    .subscribe(begun$)
  await began
  return { storage, giveBack: () => holding.unsubscribe() }
}

describe('a folder that a run holds', () => {
  it('has what lay there when it was taken, and what was put there since', async () => {
    const root = temporaryFolder()
    mkdirSync(join(root, 'news'))
    writeFileSync(join(root, 'news', 'a.json'), '[1]')
    const { storage, giveBack } = await held(root)
    const { stored } = storage
    expect(await lastValueFrom(stored.document('news/a.json'))).toEqual([1])
    expect(await lastValueFrom(stored.exists('b.json'))).toBe(false)
    expect(await lastValueFrom(stored.tail('news/b.csv'))).toBeUndefined()
    await lastValueFrom(storage.keep('report.json', { outcome: 'complete' }))
    expect(await lastValueFrom(stored.document('.scripstream/report.json'))).toEqual({ outcome: 'complete' })
    giveBack()
  })

  it('is not asked for names that were not in it: what others put there meanwhile is not read, and makes room', async () => {
    const root = temporaryFolder()
    const { storage, giveBack } = await held(root)
    writeFileSync(join(root, 'a.json'), '[1]')
    expect(await lastValueFrom(storage.stored.document('a.json'))).toBeUndefined()
    giveBack()
    expect(await lastValueFrom(storage.stored.document('a.json'))).toEqual([1])
    rmSync(join(root, 'a.json'))
    expect(filesIn(root)).not.toHaveProperty('a.json')
  })
})
