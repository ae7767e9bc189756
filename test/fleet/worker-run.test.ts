import { describe, expect, it } from 'vitest'
import { createBlobStore } from '../../src/fleet/blobs.js'
import { writeRunFile } from '../../src/fleet/shared-run.js'
import { createWorkerRuns } from '../../src/fleet/worker-run.js'
import { UsageError } from '../../src/model/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { createSettings } from './support.js'

describe('the runs of a worker', () => {
  it('stay open after an item of a removed run', async () => {
    const blobs = createBlobStore(temporaryFolder())
    await writeRunFile({ run: 'there', asOf: 5, accept: [], settings: createSettings() }, blobs)
    const sites = createWorkerRuns({ blobs, streams: [], own: { headers: {}, hosts: {} } })
    const site = await sites.open('there')
    await expect(sites.open('gone')).rejects.toThrow(UsageError)
    expect(await sites.open('there')).toBe(site)
    await sites.close()
  })
})
