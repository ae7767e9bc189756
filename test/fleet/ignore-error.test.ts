import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const MODULE = new URL('../../dist/src/fleet/ignore-error.js', import.meta.url).href
const SCRIPT = `import(${JSON.stringify(MODULE)}).then(({ ignoreError }) => Promise.reject(new Error('Connection is closed.')).catch(ignoreError('end a back-off')))`

const printErrors = async (debug: string): Promise<string> =>
  (await promisify(execFile)(process.execPath, ['-e', SCRIPT], { env: { NODE_DEBUG: debug } })).stderr

describe('An ignored error', () => {
  it('is logged with the failed operation if NODE_DEBUG=scripstream-fleet is set', async () => {
    expect(await printErrors('scripstream-fleet')).toMatch(
      /^SCRIPSTREAM-FLEET \d+: ignored: end a back-off: Connection is closed\.\n$/,
    )
  })

  it('is not logged without it', async () => {
    expect(await printErrors('')).toBe('')
  })
})
