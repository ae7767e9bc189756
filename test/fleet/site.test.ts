import { describe, expect, it } from 'vitest'
import { blobsIn } from '../../src/fleet/blobs.js'
import { tellRun } from '../../src/fleet/run-file.js'
import { sitesOf } from '../../src/fleet/site.js'
import { UsageError } from '../../src/model/errors.js'
import { temporaryFolder } from '../sinks/support.js'
import { settingsOf } from './support.js'

describe('the runs of a worker', () => {
  it('stay open after an item of a removed run', async () => {
    const blobs = blobsIn(temporaryFolder())
    await tellRun({ run: 'there', asOf: 5, accept: [], settings: settingsOf() }, blobs)
    const sites = sitesOf({ blobs, streams: [], headers: {} })
    const site = await sites.of('there')
    await expect(sites.of('gone')).rejects.toThrow(UsageError)
    expect(await sites.of('there')).toBe(site)
    await sites.close()
  })
})
