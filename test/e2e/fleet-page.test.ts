import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createFleetPlace, waitUntilJoined } from '../fleet/processes.js'
import { noRedis, SERVER } from '../fleet/support.js'
import { noBrowser, openPage, startBrowser } from '../support/browser.js'

const missing = noBrowser ?? (noRedis ? `no Redis answers at ${SERVER}` : undefined)

describe.skipIf(missing !== undefined)(
  `a fleet on the page${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  () => {
    it('shows its workers with their share while it runs, and one that is gone', async () => {
      // It takes longer to start than the run is long on a busy machine.
      const browser = await startBrowser()
      onTestFinished(() => browser.close())
      const place = await createFleetPlace({ latencyMs: 500 })
      const workers = [place.worker('north'), place.worker('south')] as const
      await waitUntilJoined(workers)
      const { child, ended } = place.driver(['--serve', '0'])
      let printed = ''
      child.stderr?.on('data', (text: Buffer) => {
        printed += String(text)
      })
      await expect.poll(() => printed).toMatch(/http:\S+\/run\b/)
      const { page, problems } = await openPage(browser, /http:\S+\/run\b/.exec(printed)?.[0] ?? '')
      await page.getByRole('heading', { name: 'Workers' }).waitFor()
      const row = (name: string) => page.getByRole('row', { name: new RegExp(`^${name} `) })
      await row('north').getByText('✔ connected').waitFor()
      await row('south').getByText('✔ connected').waitFor()
      await expect
        .poll(async () => Number(/([\d.]+) %/.exec(await row('north').innerText())?.[1] ?? 0))
        .toBeGreaterThan(0)
      workers[1].child.kill('SIGKILL')
      await once(workers[1].child, 'close')
      await row('south').getByText('✕ gone').waitFor()
      expect(problems).toEqual([])
      child.kill('SIGKILL')
      await ended
    })
  },
)
