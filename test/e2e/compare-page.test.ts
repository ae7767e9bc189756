import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { formatDay } from '../../src/model/format.js'
import { candleFile, report, stock } from '../show/support.js'
import { describeInBrowser } from '../support/browser.js'
import { serveFolder } from '../support/page-server.js'
import { folderWith } from '../tables/support.js'

/** Weekdays up to 11 February 2026. */
const WEEKDAYS = Array.from({ length: 1_000 }, (_, place) =>
  new Date(Date.UTC(2023, 4, 19 + place)).toISOString().slice(0, 10),
).filter((day) => new Date(day).getUTCDay() % 6 !== 0)

const GAPS = WEEKDAYS.filter((day, place) => day <= '2025-12-09' && place % 5 < 3)

const candles = (days: readonly string[], slope: number): string =>
  candleFile(days.map((day, place) => [day, 100 + slope * place]))

/** FULL has all sessions, GAPS three of five until December, LATE those from 28 January 2026 on. */
const createFolder = (): string =>
  folderWith({
    'master_isin_map.json': ['FULL', 'GAPS', 'LATE'].map((symbol, place) =>
      stock(symbol, `INE00000000${place}`),
    ),
    'ohlcv_data/FULL.csv': candles(WEEKDAYS, 0.1),
    'ohlcv_data/GAPS.csv': candles(GAPS, 0.2),
    'ohlcv_data/LATE.csv': candles(
      WEEKDAYS.filter((day) => day >= '2026-01-28'),
      1,
    ),
    '.scripstream/report.json': report({ 'all-ohlcv': ['success'] }),
  })

/** Collects the percents that the chart draws: the last one is that of the newest candle in view. */
const COLLECT_PERCENTS = `
  window.percents = []
  const { fillText } = CanvasRenderingContext2D.prototype
  CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    if (text.endsWith('%')) window.percents.push(text)
    return fillText.call(this, text, ...place)
  }`

describeInBrowser('a comparison with a stock of other sessions', (openPage) => {
  let origin: string
  let close: () => Promise<void>
  beforeAll(async () => {
    const server = await serveFolder(createFolder())
    origin = server.origin
    close = server.close
  })
  afterAll(() => close?.())

  const open = async (path: string): Promise<Page> => {
    const { page } = await openPage(`${origin}/404`)
    await page.addInitScript(COLLECT_PERCENTS)
    await page.goto(origin + path)
    return page
  }
  const expectSeen = (page: Page, text: string): Promise<void> =>
    expect.poll(async () => (await page.locator('.seen').innerText()).replace(/\s+/g, ' ').trim()).toBe(text)

  it.each([
    ['range=1M', '10 Nov 2025 to 9 Dec 2025: +1.5 %'],
    ['range=1Y', '9 Dec 2024 to 9 Dec 2025: +21.1 %'],
    ['range=max', '19 May 2023 to 9 Dec 2025: +80.2 %'],
    ['range=1Y&step=week', '13 Dec 2024 to 9 Dec 2025: +20.8 %'],
  ])('is of the period that the stock has without it: %s', async (query, period) => {
    const page = await open(`/stock/GAPS?${query}`)
    await expectSeen(page, `${period} average of 50 days average of 200 days`)
    await page.getByRole('textbox', { name: 'Compare with a stock or an index' }).fill('FULL')
    await page.keyboard.press('Enter')
    await expectSeen(page, `${period} FULL`)
    const [percent = ''] = /[\d.]+(?= %)/.exec(period) ?? []
    const drawn = async () => Number.parseFloat((await page.evaluate<string[]>('percents')).at(-1) ?? '')
    await expect.poll(async () => (await drawn()).toFixed(1)).toBe(percent)
  })

  it('says from which day a stock counts that was listed later', async () => {
    const page = await open('/stock/FULL?compare=LATE')
    await expectSeen(page, '11 Feb 2025 to 11 Feb 2026: +18.0 % LATE from 28 Jan 2026')
    await page.getByRole('button', { name: '1M' }).click()
    await page.getByLabel('weeks').check()
    await expectSeen(page, '16 Jan 2026 to 11 Feb 2026: +1.1 % LATE from 30 Jan 2026')
  })

  it('says on which days under the pointer the stock has no candle', async () => {
    const page = await open('/stock/GAPS?range=1M&compare=FULL')
    await page.locator('.seen').getByText('FULL').waitFor()
    const { x, y, width, height } = (await page.locator('.canvas').boundingBox()) ?? expect.fail()
    const without = new Set<string>()
    for (let at = 10; at < width - 100; at += 15) {
      await page.mouse.move(x + at, y + height / 2)
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
      const [, day] = /^(.*\d{4})\s+no candle/.exec(await page.locator('.candle').innerText()) ?? []
      if (day !== undefined) without.add(day)
    }
    const days = WEEKDAYS.filter((day) => day > '2025-11-10' && day < '2025-12-12' && !GAPS.includes(day))
    expect([...without]).toEqual(days.map(formatDay))
  })

  it('opens at the chosen day, if it is out of the range', async () => {
    const page = await open('/stock/GAPS?range=1M&compare=FULL&day=2025-01-15')
    await expectSeen(page, '3 Jan 2025 to 4 Feb 2025: +1.9 % FULL from 1 Jan 2025')
  })
})
