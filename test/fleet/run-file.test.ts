import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createBlobStore } from '../../src/fleet/blobs.js'
import { readRunFile, writeRunFile } from '../../src/fleet/shared-run.js'
import { UsageError } from '../../src/model/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { createSettings } from './support.js'

const NAMES = ['Authorization', 'X-Key', 'news: cookie']
const RUN = '20260212T143000Z-0001'
const HEADERS = { Authorization: 'Bearer secret', 'X-Key': 'secret' }
const HOSTS = { news: { url: 'http://news.test', headers: { cookie: 'secret' }, maxRate: 5 } }
const settings = createSettings({
  headers: HEADERS,
  hosts: HOSTS,
  exchange: 'BSE',
  workers: { 'market-news': 3 },
})

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
    expect(JSON.parse(text)).toMatchObject({
      run: RUN,
      headers: NAMES,
      settings: { exchange: 'BSE', headers: {} },
    })
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
    const hosts = { news: { headers: { cookie: 'mine' } }, web: { headers: { cookie: 'not used' } } }
    expect(await readRunFile(RUN, blobs, { headers: own, hosts })).toEqual({
      run: RUN,
      asOf: 5,
      accept: ['shrink'],
      headers: NAMES,
      settings: {
        ...settings,
        headers: own,
        hosts: { news: { ...HOSTS.news, headers: { cookie: 'mine' } } },
      },
    })
  })

  it('with other settings than this build has is rejected as one of another build', async () => {
    const { blobs, file } = await storeTestRunFile()
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace('"exchange"', '"later": 1, "exchange"'))
    const reading = readRunFile(RUN, blobs, { headers: HEADERS, hosts: HOSTS })
    await expect(reading).rejects.toThrow(UsageError)
    await expect(reading).rejects.toThrow(
      `the driver of run ${RUN} is of another build than this worker; install the same on both`,
    )
  })

  it('is rejected on a machine that lacks headers, with their names', async () => {
    const { blobs } = await storeTestRunFile()
    const reading = readRunFile(RUN, blobs, { headers: { 'x-key': 'mine' }, hosts: {} })
    await expect(reading).rejects.toThrow(UsageError)
    await expect(reading).rejects.toThrow(
      'this machine lacks headers of the run: Authorization, news: cookie. Set SCRIPSTREAM_HEADERS, or hosts, here too',
    )
  })

  it('is reported as missing with the folder', async () => {
    const root = temporaryFolder()
    const reading = readRunFile(RUN, createBlobStore(root), { headers: {}, hosts: {} })
    await expect(reading).rejects.toThrow(UsageError)
    await expect(reading).rejects.toThrow(`run ${RUN} is not in ${root}, which must be`)
    await expect(reading).rejects.toMatchObject({
      code: 'unknown-run',
      message: expect.stringContaining('shared folder of the driver'),
    })
  })
})
