import { beforeAll, expect, it } from 'vitest'
import { describeInBrowser, openFolder } from '../support/browser.js'
import { temporaryFolder } from '../support/folders.js'
import { duckdb } from '../tables/support.js'
import { run } from './command.js'

describeInBrowser('recorded days', (open) => {
  let out: string
  beforeAll(async () => {
    out = temporaryFolder()
    for (const day of ['2026-11-23', '2026-11-24'])
      expect(
        await run(
          ['run', '--simulate=8', '--as-of', `${day}T20:30:00+05:30`, '--out', out, '--progress', 'none'],
          { cwd: out },
        ),
      ).toMatchObject({
        code: 0,
      })
  })

  it.skipIf(!duckdb)(
    'are chosen in the head, stay from view to view, and show what was known then',
    async () => {
      const { page, problems } = await openFolder(open, out)
      const days = page.getByRole('combobox', { name: 'As known on' })
      await days.selectOption('2026-11-23')
      await page.waitForURL('**/?as-of=2026-11-23')
      await page.getByText('As known at').waitFor()
      await page.getByRole('link', { name: '23 Nov 2026' }).waitFor()
      await page.getByRole('link', { name: 'Market' }).click()
      await page.waitForURL('**/market?as-of=2026-11-23')
      await page.getByText('23 Nov 2026, all 8 stocks').waitFor()
      await page.getByRole('button', { name: 'Sectors' }).click()
      await page.waitForURL('**part=sectors&as-of=2026-11-23')
      await page.getByRole('table').getByRole('link').first().click()
      await page.waitForURL('**/market?is.sector=**as-of=2026-11-23')
      await page.getByRole('table').getByRole('link').first().click()
      await page.waitForURL('**/stock/**as-of=2026-11-23')
      await page.locator('.canvas canvas').first().waitFor()
      // Away from the chart, which shows the candle below the pointer.
      await page.mouse.move(0, 0)
      await page.locator('.candle').getByText('23 Nov 2026').waitFor()
      await page.getByRole('button', { name: 'The recorded day after' }).click()
      await page.waitForURL((url) => !url.search.includes('as-of'))
      await page.locator('.candle').getByText('24 Nov 2026').waitFor()
      expect(problems).toEqual([])
    },
  )

  it('are named as simulated in the brief, too', async () => {
    const { stdout } = await run(['brief', '--format', 'json', '--out', out], { cwd: out })
    expect(JSON.parse(stdout)).toMatchObject({ simulated: true })
  })

  it.skipIf(!duckdb)('that are not there are refused in plain words', async () => {
    const { page } = await openFolder(open, out, '/market?as-of=2020-01-01')
    await page.getByRole('alert').getByText('there is no record of 2020-01-01').first().waitFor()
    await page.goto(new URL('/market?as-of=yesterday', page.url()).href)
    await page.getByRole('alert').getByText('is no day').first().waitFor()
  })
})
