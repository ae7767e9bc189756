import { expect, it } from 'vitest'
import { toRunLogEntry } from '../../src/model/run-log.js'
import { runReport, scriptReport } from '../cli/support.js'
import { describeInBrowser, openFolder } from '../support/browser.js'
import { temporaryFolder } from '../support/folders.js'
import { folderWith } from '../tables/support.js'

describeInBrowser('the page', (open) => {
  it('changes the view by links, keys and Back, and keeps the theme that was chosen', async () => {
    const { page, problems } = await openFolder(open, temporaryFolder())
    await page.getByRole('link', { name: 'Market' }).click()
    await page.waitForURL('**/market')
    await page.keyboard.press('g')
    await page.keyboard.press('q')
    await page.waitForURL('**/query')
    await page.goBack()
    await page.waitForURL('**/market')
    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('search a stock or an index').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('m')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Change to the dark theme' }).click()
    await page.reload()
    await page.getByRole('button', { name: 'Change to the light theme' }).waitFor()
    await page.keyboard.press('/')
    expect(await page.evaluate('document.activeElement.id')).toBe('search')
    expect(problems).toEqual([])
  })

  it.each([
    ['/runs', 390],
    ['/runs', 1024],
    ['/runs/r1', 390],
    ['/runs/r1', 1024],
  ] as const)('shows %s at %i pixels without scrolling sideways', async (path, width) => {
    const failed = scriptReport({
      outcome: 'failed',
      error: 'no daily file for the 8 days up to 2026-02-11',
      durationMs: 599_900,
    })
    const names = ['incremental-price-bands', 'complete-price-bands']
    const report = runReport({
      outcome: 'partial',
      durationMs: 599_900,
      scripts: Object.fromEntries(names.map((name) => [name, failed])),
    })
    const missing = Object.fromEntries(names.map((name) => [name, 'all' as const]))
    const out = folderWith({
      '.scripstream/runs.ndjson': `${JSON.stringify(toRunLogEntry(report, missing))}\n`,
    })
    const { page } = await openFolder(open, out, path, { width })
    await page.locator('main').getByText('complete-price-bands').filter({ visible: true }).first().waitFor()
    if (path !== '/runs')
      await page
        .locator('main')
        .getByText('no daily file for the 8 days')
        .filter({ visible: true })
        .first()
        .waitFor()
    const overflow =
      "[document.documentElement, ...document.querySelectorAll('.scroll')].map((one) => one.scrollWidth - one.clientWidth)"
    expect(Math.max(...((await page.evaluate(overflow)) as number[]))).toBeLessThanOrEqual(0)
  })
})
