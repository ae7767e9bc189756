import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { serveSimulator } from '../../src/simulator/index.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'

const ROOT = join(import.meta.dirname, '../..')
/** The model had another name before Node 23.5; there, it does not limit the network. */
const [flag, ...network] = ['--permission', '--allow-net'].filter((name) =>
  process.allowedNodeEnvironmentFlags.has(name),
)

/** A run in a process with the permission model of Node; resolves to what it prints. */
const runLimited = async (allowed: readonly string[]) => {
  const endpoints = streams.flatMap((stream) => stream.endpoints)
  const simulator = await serveSimulator({ endpoints, stocks: 3 })
  onTestFinished(() => simulator.close())
  const out = temporaryFolder()
  const settings = JSON.stringify({ ...simulator.settings, out })
  const app = `
    import { lastValueFrom } from 'rxjs'
    import { createCollector } from './dist/lib/index.js'
    const run$ = createCollector({ settings: ${settings} }).run({ only: ['market-news'] })
    console.log(JSON.stringify(await lastValueFrom(run$).catch(({ name, message }) => ({ name, message }))))`
  const args = [
    flag ?? '--experimental-permission',
    `--allow-fs-read=${ROOT}`,
    `--allow-fs-read=${out}`,
    `--allow-fs-write=${out}`,
    ...allowed,
    '--input-type=module',
    '--eval',
    app,
  ]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT })
  return { report: JSON.parse(stdout), out }
}

describe('with the permission model of Node, a run', () => {
  it('stores without syncs, and notes it', async () => {
    const { report, out } = await runLimited(network)
    expect(report).toMatchObject({
      outcome: 'complete',
      notes: [
        expect.stringMatching(/^files are not synced, because the permission model of Node forbids it/),
      ],
    })
    expect(readFileSync(join(out, '.scripstream/report.json'), 'utf8')).toContain('not synced')
  })

  it.skipIf(network.length === 0)('without network ends at once (Node 25 or newer)', async () => {
    const begun = performance.now()
    const { report } = await runLimited([])
    expect(report.message).toContain('the permission model of Node forbids it')
    expect(performance.now() - begun).toBeLessThan(20_000)
  })
})
