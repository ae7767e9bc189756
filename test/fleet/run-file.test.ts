import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createBlobStore } from '../../src/fleet/blobs.js'
import { readRunFile, writeRunFile } from '../../src/fleet/shared-run.js'
import { UsageError } from '../../src/model/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { createSettings } from './support.js'

const RUN = '20260212T143000Z-0001'
const HEADERS = { Authorization: 'Bearer secret', 'X-Key': 'secret' }
const settings = createSettings({ headers: HEADERS, exchange: 'BSE', workers: { 'market-news': 3 } })

const storeTestRunFile = async () => {
  const root = temporaryFolder()
  const blobs = createBlobStore(root)
  await writeRunFile({ run: RUN, asOf: 5, accept: ['shrink'], settings }, blobs)
  return { blobs, root, file: join(root, RUN, 'run.json') }
}

describe('the file of a run', () => {
  it('has all settings without header values, readable by its owner only', async () => {
    const { file } = await storeTestRunFile()
    const text = readFileSync(file, 'utf8')
    expect(text).not.toContain('secret')
    expect(JSON.parse(text)).toMatchObject({ run: RUN, headers: ['Authorization', 'X-Key'], settings: { exchange: 'BSE', headers: {} } })
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  it('has neither the target nor the secret of notifications', async () => {
    const root = temporaryFolder()
    const secrets = createSettings({ notify: 'https://hooks.example/T0KEN', notifySecret: 'a long secret' })
    await writeRunFile({ run: RUN, asOf: 5, accept: [], settings: secrets }, createBlobStore(root))
    expect(readFileSync(join(root, RUN, 'run.json'), 'utf8')).not.toMatch(/T0KEN|a long secret/)
  })

  it("is read with this machine's own headers", async () => {
    const { blobs } = await storeTestRunFile()
    const own = { authorization: 'mine', 'x-key': 'mine', Extra: 'mine' }
    expect(await readRunFile(RUN, blobs, own)).toEqual({
      ...{ run: RUN, asOf: 5, accept: ['shrink'], headers: ['Authorization', 'X-Key'] },
      settings: { ...settings, headers: own },
    })
  })

  it('is rejected on a machine that lacks headers, with their names', async () => {
    const { blobs } = await storeTestRunFile()
    const reading = readRunFile(RUN, blobs, { 'x-key': 'mine' })
    await expect(reading).rejects.toThrow(UsageError)
    await expect(reading).rejects.toThrow('this machine lacks headers of the run: Authorization. Set SCRIPSTREAM_HEADERS here too')
  })

  it('is reported as missing with the folder', async () => {
    const root = temporaryFolder()
    const reading = readRunFile(RUN, createBlobStore(root), {})
    await expect(reading).rejects.toThrow(UsageError)
    await expect(reading).rejects.toThrow(`run ${RUN} is not in ${root}, which must be`)
    await expect(reading).rejects.toMatchObject({ code: 'unknown-run', message: expect.stringContaining('shared folder of the driver') })
  })
})
