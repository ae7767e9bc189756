import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { candleFile, candleLine, ISIN, report, stock } from '../show/support.js'
import { describeInBrowser, findInaccessible, type Open, openFolder } from '../support/browser.js'
import { serveFolder } from '../support/page-server.js'
import { duckdb, folderWith } from '../tables/support.js'

const HOSTILE = '<IMG SRC=X ONERROR=ALERT(1)>'
const HEADLINE = '</p><script>document.title="taken"</script>\u202ereversed'
const DAYS = Array.from({ length: 120 }, (_, place) =>
  new Date(Date.UTC(2025, 9, 16 + place)).toISOString().slice(0, 10),
)
const LAST = DAYS.at(-1) as string

const candles = (factor: number) =>
  candleFile(DAYS.map((day, place) => [day, factor * (100 + (place % 7)), 1e6 + place] as const))

/** A folder with three stocks: one with everything, one with hostile texts, one with candles only. */
const createFolder = (): string =>
  folderWith({
    'master_isin_map.json': [
      stock('TCS', ISIN, 'Tata Consultancy'),
      stock(HOSTILE, 'INE000000001', HEADLINE),
      stock('INFY', 'INE000000002', 'Infosys'),
    ],
    'ohlcv_data/TCS.csv': `${candles(1)}${candleLine(LAST, [200, 210, 190, 205])}`,
    'ohlcv_data/INFY.csv': candles(2),
    'all_indices_list.json': [{ Sym: 'NIFTY', DispSym: 'Nifty 50', Sid: 13 }],
    'ohlcv_data/indices/NIFTY.csv': candles(200),
    'upper_circuit_stocks.json': [HOSTILE, 'INFY', 'TCS'].map((symbol) => ({
      Symbol: symbol,
      Name: HEADLINE,
      LTP: 5,
      ChangePercent: 4.9,
    })),
    'company_filings/TCS_filings.json': {
      data: [
        {
          news_date: `${LAST} 17:38:21`,
          caption: 'Board meeting',
          descriptor: 'General',
          file_url: 'javascript:alert(1)',
        },
      ],
    },
    'market_news/TCS_news.json': {
      Symbol: 'TCS',
      ISIN,
      News: [
        {
          Title: `खबर 🙂 ${HEADLINE}`,
          Sentiment: 'negative',
          PublishDate: Date.parse(`${LAST}T16:00:00+05:30`),
        },
      ],
    },
    'history_corporate_actions.json': [
      { Sym: 'TCS', CorpAct: [{ ActType: 'DIVIDEND', ExDate: DAYS[100], Note: '2.5' }] },
    ],
    'fundamental_data.json': [
      {
        Symbol: 'TCS',
        ISIN,
        incomeStat_cq: { SALES: '12|11', NET_PROFIT: '-3|4', YEAR: '202512|202509' },
        sHp: { PROMOTER: '60|61', PUBLIC: '40|39', YEAR: '202512|202509' },
      },
    ],
    '.scripstream/former-stocks.json': [
      { symbol: 'OLDTCS', isin: ISIN, name: 'Tata Consultancy', file: 'OLDTCS', until: '2026-01-01' },
    ],
    '.scripstream/report.json': report(
      { 'all-ohlcv': ['success'], 'market-news': ['success'], 'company-filings': ['success'] },
      { asOf: `${LAST}T14:30:00.000Z` },
    ),
  })

const VIEWS = [
  '/',
  '/list/stocks',
  '/list/circuits',
  '/list/none',
  '/market',
  '/market?part=feed',
  '/stock/TCS',
  '/stock/TCS?tab=documents',
  '/stock/NONE',
  '/index/NIFTY',
  '/query',
  `/stock/${encodeURIComponent(HOSTILE)}`,
]

describeInBrowser('market, stocks and queries', (openPage) => {
  let origin: string
  let close: () => Promise<void>
  beforeAll(async () => {
    const server = await serveFolder(createFolder())
    origin = server.origin
    close = server.close
  })
  afterAll(() => close?.())

  const open: Open = (path, size) => openPage(origin + path, size)
  const loaded = async (page: Page): Promise<void> => {
    await page.locator('main :is(h1, [role=alert])').first().waitFor({ state: 'attached' })
    await page.waitForLoadState('networkidle')
  }

  it('searches by an old symbol with the keyboard only', async () => {
    const { page, problems } = await open('/market')
    await loaded(page)
    await page.keyboard.press('/')
    await page.keyboard.type('oldtcs')
    await page.getByRole('option', { name: 'was OLDTCS' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('option', { name: 'was OLDTCS' }).waitFor({ state: 'hidden' })
    await page.keyboard.press('/')
    await page.keyboard.type('i')
    await page.getByRole('option', { name: 'Infosys' }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/stock/INFY')
    expect(problems).toEqual([])
  })

  it('shows a stock with its candles, marks and timeline, and says what was cleaned', async () => {
    const { page, problems } = await open('/stock/OLDTCS')
    await page.getByText('OLDTCS is now TCS').waitFor()
    await page.locator('.canvas canvas').first().waitFor()
    await page.getByText('1 candle repeats a day').waitFor()
    await page
      .locator('.timeline li')
      .filter({ hasText: 'Dividend' })
      .getByTitle('Show this day in the chart')
      .click()
    await page.waitForURL(`**day=${DAYS[100]}`)
    expect(await page.locator('.timeline li[aria-current=date]').innerText()).toContain('Dividend')
    expect(await page.locator('.timeline li').count()).toBe(1)
    const dividends = page
      .getByRole('group', { name: 'Marks on the chart' })
      .getByRole('button', { name: 'D dividend' })
    await dividends.click()
    await page.waitForURL('**marks-off=FNAD')
    expect(await dividends.getAttribute('aria-pressed')).toBe('false')
    await dividends.click()
    await page.waitForURL((url) => !url.search.includes('marks-off'))
    await page.getByRole('button', { name: 'max' }).click()
    await page.waitForURL('**range=max')
    expect(await page.getByRole('link', { name: 'TradingView' }).getAttribute('href')).toBe(
      'https://www.tradingview.com/',
    )
    expect(problems).toEqual([])
  })

  it('compares a stock with another one, shows weeks and a logarithmic scale, and has its quarters and holders on pages of their own', async () => {
    const { page, problems } = await open('/stock/TCS')
    await page.locator('.canvas canvas').first().waitFor()
    await page
      .getByText(/: [+-]?[\d.]+ %/)
      .first()
      .waitFor()
    await page.getByRole('textbox', { name: 'Compare with a stock or an index' }).fill('nifty')
    await page.keyboard.press('Enter')
    await page.waitForURL('**compare=NIFTY')
    await page.locator('.seen').getByText('NIFTY').waitFor()
    await page.getByLabel('weeks').check()
    await page.getByLabel('log').check()
    await page.waitForURL((url) => url.search.includes('step=week') && url.search.includes('scale=log'))
    await page.getByRole('textbox', { name: 'Compare with a stock or an index' }).fill('none')
    await page.keyboard.press('Enter')
    await page.getByText('NONE is in no list of this folder').waitFor()
    for (const [tab, text] of [
      ['quarters', 'Q3 FY26'],
      ['years', 'Results and balance sheet by year'],
      ['holders', 'promoter %'],
      ['documents', 'corporate action'],
      ['deals', 'No row matches'],
      ['peers', 'The stocks of the same industry'],
      ['checks', 'Data checks of the candles'],
    ] as const) {
      await page.getByRole('button', { name: tab, exact: true }).click()
      await page.locator('main').getByText(text).filter({ visible: true }).first().waitFor()
      expect(await page.locator('.canvas').isVisible()).toBe(false)
    }
    expect(problems).toEqual([])
  })

  it('leads from the stocks of the market to the next and the previous one', async () => {
    const { page } = await open('/market?sort=symbol')
    await page.getByRole('link', { name: 'Infosys' }).click()
    await page.waitForURL('**/stock/INFY')
    await page.getByRole('heading', { name: 'Infosys' }).waitFor()
    await page.keyboard.press(']')
    await page.getByRole('heading', { name: 'Tata Consultancy' }).waitFor()
    await page.keyboard.press('[')
    await page.getByRole('heading', { name: 'Infosys' }).waitFor()
    await page.goBack()
    await page.waitForURL('**/stock/TCS')
  })

  it('shows at once what was left, at the same place, on the way back', async () => {
    const { page } = await open('/market')
    await page.setViewportSize({ width: 390, height: 500 })
    await page.waitForLoadState('networkidle')
    const link = page.getByRole('link', { name: 'Infosys' })
    await link.scrollIntoViewIfNeeded()
    const before = await page.evaluate('scrollY')
    expect(before).toBeGreaterThan(0)
    await link.click()
    await page.getByRole('heading', { name: 'Infosys' }).waitFor()
    expect(await page.evaluate('scrollY')).toBe(0)
    const asked: string[] = []
    page.on('request', (request) => request.url().includes('/api/') && asked.push(request.url()))
    await page.goBack()
    await link.waitFor()
    await page.waitForFunction(`scrollY === ${before}`)
    expect(asked).toEqual([])
  })

  it('shows the market as one table, with tags, universes and a menu of columns that Escape closes; sectors; what happened', async () => {
    const { page, problems } = await open('/stock/INFY')
    await page.getByRole('button', { name: '☆ follow' }).click()
    await page.goto(`${origin}/market?is.tags=upper+limit`)
    await page.getByText('3 rows').waitFor()
    await page.getByRole('combobox', { name: 'universe' }).selectOption('mine')
    await page.waitForURL('**is.universe=mine')
    await page.getByText('1 of 3 rows').waitFor()
    await page.getByText('12 Feb 2026, all 1 stock of mine').waitFor()
    const menu = page.locator('details.columns')
    await menu.getByText('Columns').click()
    await page.getByLabel('market cap ₹ crore').check()
    await page.getByRole('columnheader', { name: 'market cap ₹ crore' }).waitFor()
    await page.keyboard.press('Escape')
    expect(await menu.getAttribute('open')).toBeNull()
    await menu.getByText('Columns').click()
    await page.getByRole('heading').first().click()
    expect(await menu.getAttribute('open')).toBeNull()
    await page.getByRole('button', { name: 'Sectors' }).click()
    await page.getByRole('columnheader', { name: 'advances' }).waitFor()
    await page.waitForURL((url) => url.searchParams.get('is.universe') === 'mine')
    expect(await page.locator('tbody tr[data-row] td:nth-child(2)').allInnerTexts()).toEqual(['1'])
    await page.getByRole('combobox', { name: 'universe' }).selectOption({ index: 0 })
    await page.getByText('12 Feb 2026, 2 of 3 stocks have a candle').waitFor()
    expect(await page.locator('tbody tr[data-row] td:nth-child(2)').allInnerTexts()).toEqual(['2'])
    await page.getByRole('button', { name: 'What happened' }).click()
    await page.getByRole('region', { name: 'Tata Consultancy' }).getByText('Board meeting').waitFor()
    expect(problems).toEqual([])
  })

  it('shows hostile texts as they are', async () => {
    const { page, problems } = await open('/market')
    const dialogs: string[] = []
    page.on('dialog', (dialog) => {
      dialogs.push(dialog.message())
      void dialog.dismiss()
    })
    await page.getByText(HOSTILE).first().waitFor()
    await page.getByRole('button', { name: 'What happened' }).click()
    await page.getByText('खबर 🙂').waitFor()
    expect(await page.locator('main :is(img, script, iframe)').count()).toBe(0)
    await page.getByRole('button', { name: 'Stocks' }).click()
    await page.getByRole('link', { name: HEADLINE }).first().click()
    await page.getByRole('heading', { name: HEADLINE }).waitFor()
    await page.getByText('There are no candles of it').waitFor()
    await page.goto(`${origin}/stock/TCS`)
    await page.getByText('Board meeting').waitFor()
    expect(await page.locator('a[href^="javascript:"]').count()).toBe(0)
    expect([await page.title(), dialogs, problems]).toEqual(['TCS · scripstream', [], []])
  })

  it.skipIf(!duckdb)(
    'answers a query, sorts and exports it, and refuses a write in plain words',
    async () => {
      const { page, problems } = await open('/query')
      await page.getByRole('button', { name: 'breakouts' }).waitFor()
      const box = page.getByRole('textbox', { name: 'SQL statement' })
      await box.fill("select symbol, length(symbol) as n, '=1+1' as f from master")
      await box.press('Control+Enter')
      await page.getByText('3 rows in').waitFor()
      const head = page.getByRole('columnheader', { name: /^n( |$)/ }).getByRole('button')
      await head.click()
      await page.getByRole('columnheader', { name: 'n ▾' }).waitFor()
      await head.click()
      await page.getByRole('columnheader', { name: 'n ▴' }).waitFor()
      expect(await page.locator('tbody td:first-child').allInnerTexts()).toEqual(['TCS', 'INFY', HOSTILE])
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Export CSV' }).click(),
      ])
      const chunks: Buffer[] = []
      for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer)
      expect(Buffer.concat(chunks).toString()).toBe(
        `symbol,n,f\nTCS,3,'=1+1\nINFY,4,'=1+1\n${HOSTILE},${HOSTILE.length},'=1+1\n`,
      )
      expect(problems).toEqual([])
      await box.fill('delete from master')
      await page.getByRole('button', { name: 'Run', exact: true }).click()
      expect(await page.getByRole('alert').innerText()).toContain('query is read-only')
      await page.goBack()
      await page.getByText('3 rows in').waitFor()
      await box.fill('select unnest([950, 12345]) as volume, unnest([2025, 2026]) as year')
      await box.press('Control+Enter')
      await page.getByText('2 rows in').waitFor()
      expect(await page.locator('tbody tr[data-row]').allInnerTexts()).toEqual(['950\t2025', '12,345\t2026'])
    },
  )

  it.skipIf(!duckdb)(
    'completes names, draws a result, remembers what was run, and refuses a day without a record',
    async () => {
      const { page, problems } = await open('/query')
      const box = page.getByRole('textbox', { name: 'SQL statement' })
      await box.fill('select isin from mas')
      await page.getByRole('button', { name: 'Tab master', exact: true }).waitFor()
      await page.keyboard.press('Tab')
      await page.keyboard.type(' order by na')
      await page.keyboard.press('Tab')
      expect(await box.inputValue()).toBe('select isin from master order by name')
      await box.fill("select day, close, volume from candles_adjusted where symbol = 'TCS'")
      await box.press('Control+Enter')
      await page.getByText('120 rows in').waitFor()
      await page.getByRole('button', { name: 'Chart' }).click()
      await page.getByRole('img', { name: 'close by day' }).waitFor()
      await page.getByRole('combobox', { name: 'y', exact: true }).selectOption('volume')
      await page.getByRole('img', { name: 'volume by day' }).waitFor()
      await page.getByRole('combobox', { name: 'x', exact: true }).selectOption('close')
      await page.getByRole('img', { name: 'volume by close' }).waitFor()
      expect(page.url()).toContain('&y=volume&x=close')
      await page.goto(`${origin}/query`)
      await page.getByRole('region', { name: 'Run here before' }).getByRole('button').first().click()
      await page.getByText('120 rows in').waitFor()
      expect(problems).toEqual([])
      await page.goto(`${page.url()}&as-of=2020-01-01`)
      await page.getByRole('alert').getByText('no day is recorded').waitFor()
    },
  )

  it.skipIf(!duckdb)(
    'shows whole lists: sorted, filtered by words and values, with a link that leads to the same',
    async () => {
      const { page, problems } = await open('/list/circuits')
      await page.getByText('3 rows').waitFor()
      await page.getByRole('searchbox', { name: 'Filter the rows by words' }).fill('infy')
      await page.getByText('1 of 3 rows').waitFor()
      expect(page.url()).toContain('find=infy')
      await page.keyboard.press('Escape')
      await page.keyboard.press('j')
      await page.locator('[data-row="0"] a:focus').waitFor()
      await page.keyboard.press('Enter')
      await page.waitForURL('**/stock/INFY')
      await page.goto(`${origin}/list/stocks?sort=close_inr&is.universe=&hide=name`)
      await page.getByRole('columnheader', { name: 'close ₹ ▴' }).waitFor()
      expect(await page.locator('tbody tr[data-row] td:first-child').allInnerTexts()).toEqual([
        'INFY',
        'TCS',
        HOSTILE,
      ])
      await page.goto(`${origin}/list/none`)
      await page.getByRole('alert').getByText('there is no list none').waitFor()
      expect(problems.filter((text) => !text.includes('404'))).toEqual([])
    },
  )

  it.skipIf(!duckdb)('draws only the rows of a long list that are seen', async () => {
    const stocks = Array.from({ length: 2_775 }, (_, place) =>
      stock(`S${place}`, `INE${String(place).padStart(9, '0')}`, `Stock ${place}`),
    )
    const { page } = await openFolder(
      openPage,
      folderWith({ 'master_isin_map.json': stocks }),
      '/list/stocks?sort=symbol',
    )
    await page.getByText('2,775 rows').waitFor()
    expect(await page.locator('tbody tr[data-row]').count()).toBeLessThan(150)
    const [head, row] = [page.getByRole('columnheader').first(), page.locator('tbody tr[data-row]').first()]
    const place = async () => [(await head.boundingBox())?.y ?? 0, (await row.boundingBox())?.y ?? 0] as const
    const [above, below] = await place()
    expect(below - above).toBeGreaterThanOrEqual(27)
    await page.evaluate('scrollTo(0, document.body.scrollHeight)')
    await page.getByRole('link', { name: 'Stock 999', exact: true }).waitFor()
    // The head of the table stays below that of the page.
    await expect.poll(async () => Math.round((await place())[0])).toBe(48)
  })

  it.skipIf(!duckdb)(
    'keeps the stocks that one follows, and shows them today with what happened',
    async () => {
      const { page, problems } = await open('/stock/TCS')
      await page.getByRole('button', { name: '☆ follow' }).click()
      await page.goto(origin)
      const own = page.getByRole('region', { name: 'Your stocks' })
      await own.getByText('upper limit').waitFor()
      await own.getByText('Board meeting').waitFor()
      await own.getByRole('textbox', { name: 'Symbols to follow' }).fill('nosuch')
      await page.keyboard.press('Enter')
      await own.getByText('In no list of this folder').waitFor()
      await own.getByRole('button', { name: 'Remove NOSUCH' }).click()
      await own.getByText('In no list of this folder').waitFor({ state: 'hidden' })
      expect(problems).toEqual([])
    },
  )

  it('says on every view that data is simulated, and nothing of real data', async () => {
    const out = folderWith({
      'master_isin_map.json': [stock('TCS')],
      '.scripstream/source.json': { simulated: true },
    })
    for (const path of ['/', '/market', '/query']) {
      const { page } = await openFolder(openPage, out, path)
      await page.getByText('Simulated data').waitFor()
    }
    const { page } = await open('/query')
    await loaded(page)
    expect(await page.getByText('Simulated data').count()).toBe(0)
  })

  it('says what to do in an empty folder', async () => {
    const { page } = await openFolder(openPage, folderWith({}), '/market')
    await page.getByRole('heading', { name: 'Nothing is collected here yet' }).waitFor()
  })

  it.each([1440, 1024, 390])(
    'fits %i pixels, without errors, a serious fault of accessibility or a request to another place',
    async (width) => {
      for (const path of VIEWS) {
        const { page, problems } = await open(path, { width, dark: width === 1024 })
        await loaded(page)
        if (width === 390)
          expect((await page.locator('header').boundingBox())?.height, path).toBeLessThanOrEqual(96)
        const overflow = await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        )
        expect(overflow, path).toBeLessThanOrEqual(0)
        // Once light, once dark: it takes most of the time.
        if (width > 390) expect(await findInaccessible(page), path).toEqual([])
        expect(
          problems.filter((text) => !text.includes('404')),
          path,
        ).toEqual([])
      }
    },
  )
})
