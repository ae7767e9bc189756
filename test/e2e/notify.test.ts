import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Payload } from '../../src/cli/notify/payload.js'
import { temporaryFolder } from '../support/folders.js'
import { run } from './command.js'

it('tells what changed in the market, once, as its environment says, and logs under the id of the run', async () => {
  const cwd = temporaryFolder()
  const env = {
    SCRIPSTREAM_NOTIFY: 'cat > payload',
    SCRIPSTREAM_NOTIFY_ON: 'change',
    SCRIPSTREAM_LOG_FILE: 'run.log',
  }
  const daily = (day: string) =>
    run(['run', '--simulate=12', '--quiet', '--as-of', day, '--skip', 'all-ohlcv,indices-ohlcv'], {
      cwd,
      env,
    })
  expect(await daily('2026-02-12')).toEqual({ code: 0, stdout: '', stderr: '' })
  expect(existsSync(join(cwd, 'payload'))).toBe(false)
  expect(await daily('2026-02-13')).toEqual({ code: 0, stdout: '', stderr: '' })
  const payload = JSON.parse(readFileSync(join(cwd, 'payload'), 'utf8')) as Payload
  expect(payload).toMatchObject({
    outcome: 'complete',
    exitCode: 0,
    day: '2026-02-13',
    changedStocks: expect.any(Number),
  })
  expect(payload.text).toContain('Changed: ')
  const log = readFileSync(join(cwd, 'run.log'), 'utf8').trim().split('\n')
  const lines = log.map((line) => JSON.parse(line) as { readonly run: string; readonly msg: string })
  expect(new Set(lines.map((line) => line.run)).size).toBe(2)
  expect(lines.at(-1)).toMatchObject({ run: payload.run, msg: 'notification-sent' })
})

it('tells a change only if it concerns the watchlists of the settings, if there are any', async () => {
  const cwd = temporaryFolder()
  const payload = join(cwd, 'payload')
  const writeSettings = (watchlists: object): void =>
    writeFileSync(
      join(cwd, 'scripstream.config.json'),
      JSON.stringify({ notify: 'cat > payload', notifyOn: 'change', watchlists }),
    )
  /** Two days in a new folder; the stocks of the notification. */
  const runTwoDays = async (out: string): Promise<readonly string[] | undefined> => {
    rmSync(payload, { force: true })
    for (const day of ['2026-02-12', '2026-02-13'])
      await run(
        [
          'run',
          '--simulate=60',
          '--quiet',
          '--out',
          out,
          '--as-of',
          day,
          '--only',
          'master-data,bulk-block-deals',
        ],
        { cwd },
      )
    if (!existsSync(payload)) return undefined
    const { changes } = JSON.parse(readFileSync(payload, 'utf8')) as {
      readonly changes: readonly { readonly symbol: string }[]
    }
    return changes.map(({ symbol }) => symbol)
  }

  writeSettings({})
  const changed = await runTwoDays('all')
  const listed = JSON.parse(readFileSync(join(cwd, 'all/master_isin_map.json'), 'utf8')) as readonly {
    readonly Symbol: string
  }[]
  const other = listed.find(({ Symbol: symbol }) => !changed?.includes(symbol))?.Symbol
  expect([changed?.length, other]).toEqual([expect.any(Number), expect.any(String)])
  writeSettings({ mine: [other] })
  expect(await runTwoDays('unchanged')).toBeUndefined()
  writeSettings({ mine: [other], more: [changed?.at(-1)] })
  expect((await runTwoDays('changed'))?.[0]).toBe(changed?.at(-1))
})
