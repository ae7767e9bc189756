import { expect, it, onTestFinished } from 'vitest'
import type { Fault } from '../../src/simulator/index.js'
import { describeInBrowser, openFolder } from '../support/browser.js'
import { temporaryFolder } from '../support/folders.js'
import { endOf, provider, start } from './command.js'

/** A host that refuses requests until the test switches that off in the simulator. */
const refuse = (on: string): Fault => ({ on, mode: 'status', status: 429, retryAfter: 8 })

/** Starts a run in a process of its own against a simulator, and serves the page on its folder. */
const startRun = async (args: readonly string[], faults: readonly Fault[]) => {
  const { simulator, env } = await provider({ stocks: 6, candleDays: 5, faults })
  const out = temporaryFolder()
  const child = start(['run', '--as-of', '2026-02-12T20:00:00+05:30', '--out', out, ...args], {
    cwd: out,
    env,
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return { simulator, out, child }
}

describeInBrowser('a run with faults', (open) => {
  it('waits for a throttled host, closes the barrier, shows a failed stream and a failed symbol, and ends', async () => {
    const broken: Fault = { on: 'deal', mode: 'status', status: 500 }
    const { simulator, out, child } = await startRun([], [refuse('fundamental'), broken])
    const ended = endOf(child)
    const [, { ISIN = '', Symbol: symbol = '' } = {}] = simulator.market.stocks
    const lost: Fault = { on: 'announcements', mode: 'status', status: 404, items: [ISIN] }
    const { page, problems } = await openFolder(open, out, '/run?stream=fundamental-data')
    const node = (name: string, state: string) =>
      page.getByRole('button', { name: new RegExp(`^${name}: ${state}`) })
    const details = (name: string) => page.getByRole('region', { name: `Details of ${name}` })
    const barrier = (text: string) => page.locator('.graph text.barrier').getByText(text)

    await node('fundamental-data', 'waits \\d s: rate limit, 0 of 6 items').waitFor()
    await details('fundamental-data')
      .getByText(/^fundamental: rate limit, next request \d\d:\d\d:\d\d IST \(in \d s\)$/)
      .waitFor()
    await page
      .locator('.hosts')
      .getByText(/fundamental .*held since .*next request in \d+ s/)
      .waitFor()
    await barrier('barrier: waits for 2 of 3 streams').waitFor()
    await node('market-news', 'not started').waitFor()

    simulator.control({ faults: [broken, lost, refuse('news')] })
    await barrier('barrier: all streams above have ended after').waitFor()
    await node('fundamental-data', '✔').waitFor()
    await node('bulk-block-deals', 'tries 1 item later').waitFor()
    await node('market-news', 'waits \\d s: rate limit').waitFor()
    await node('new-announcements', '1 failed').click()
    await page.waitForURL('**/run?stream=new-announcements')
    await details('new-announcements').getByRole('listitem').getByText(/404/).waitFor()
    const losses = page.locator('.losses')
    await losses.getByRole('listitem').filter({ hasText: symbol }).getByText(/404/).waitFor()
    await page.getByRole('heading', { name: /Running: \d+ %/ }).waitFor()

    simulator.control({ faults: [broken, lost] })
    await page.getByRole('heading', { name: 'Not complete' }).waitFor()
    await page
      .getByText('bulk-block-deals is missing; new-announcements (1) lacks items. Everything else is there.')
      .waitFor()
    await barrier('report: all streams above have ended').waitFor()
    await page.getByRole('button', { name: /\d+ complete/ }).click()
    await node('market-news', '✔').waitFor()
    await node('bulk-block-deals', '✕ failed').click()
    await details('bulk-block-deals')
      .getByText(/deal: .*500/)
      .first()
      .waitFor()
    expect((await ended).code).toBe(3)
    expect(problems).toEqual([])
  })

  it('is served by the run itself from its start, and the page says so when it ends with the run', async () => {
    const { simulator, child } = await startRun(['--only', 'market-news', '--serve', '0'], [refuse('news')])
    let printed = ''
    child.stderr.on('data', (text: Buffer) => {
      printed += String(text)
    })
    await expect.poll(() => printed).toMatch(/page of this run: http:\S+\/run\b/)
    const { page } = await open(/http:\S+\/run\b/.exec(printed)?.[0] ?? '', { width: 390, dark: true })
    await page.getByRole('button', { name: /^market-news: waits \d s: rate limit, 0 of 6 items/ }).waitFor()
    simulator.control({ faults: [] })
    await page.getByRole('alert').getByText('does not answer').waitFor()
  })
})
