import { existsSync } from 'node:fs'
import axe, { type AxeResults } from 'axe-core'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, inject, onTestFinished } from 'vitest'
import type { PageServerOptions } from '../../src/web/server/serve.js'
import { serveFolder } from './page-server.js'

const PATHS = [
  process.env.SCRIPSTREAM_TEST_BROWSER ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]
const executablePath = PATHS.find((path) => path !== '' && existsSync(path))

/** Why tests of the page in a browser are skipped; undefined if there is one. */
export const noBrowser =
  executablePath === undefined ? 'no Chromium here; set SCRIPSTREAM_TEST_BROWSER to its path' : undefined

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Starts the browser; close it after the tests. */
export const startBrowser = (): Promise<Browser> =>
  chromium.launch({ args: ARGS, ...(executablePath === undefined ? {} : { executablePath }) })

/**
 * Opens a path in a new page. `problems` collects what the browser complains about: errors of scripts,
 * refused resources, failed requests.
 */
export const openPage = async (
  browser: Browser,
  address: string,
  {
    width = 1440,
    height = 900,
    dark = false,
  }: { readonly width?: number; readonly height?: number; readonly dark?: boolean } = {},
): Promise<{ readonly page: Page; readonly problems: readonly string[] }> => {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light' })
  page.setDefaultTimeout(inject('waitMs'))
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(address).origin) problems.push(`asked ${request.url()}`)
  })
  await page.goto(address)
  return { page, problems }
}

type Size = NonNullable<Parameters<typeof openPage>[2]>

/** Opens a page in the browser; it is closed when the test ends. */
export type Open = (address: string, size?: Size) => ReturnType<typeof openPage>

/** Tests with one browser, which are skipped where there is none. */
export const describeInBrowser = (title: string, tests: (open: Open) => void) =>
  describe.skipIf(noBrowser !== undefined)(
    `${title} in a browser${noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`}`,
    () => {
      let browser: Browser
      beforeAll(async () => {
        browser = await startBrowser()
      })
      afterAll(() => browser?.close())
      tests(async (address, size) => {
        const opened = await openPage(browser, address, size)
        onTestFinished(() => opened.page.close())
        return opened
      })
    },
  )

/** Serves the page on a folder until the test ends, and opens a path of it. */
export const openFolder = async (
  open: Open,
  out: string,
  path = '/',
  { width, dark, ...changes }: Size & Partial<PageServerOptions> = {},
) => {
  const server = await serveFolder(out, changes)
  onTestFinished(() => server.close())
  return {
    ...(await open(server.origin + path, { ...(width ? { width } : {}), ...(dark ? { dark } : {}) })),
    server,
  }
}

/** What a view has of serious faults of accessibility, each with its elements. */
export const findInaccessible = async (page: Page): Promise<readonly string[]> => {
  await page.evaluate(axe.source)
  const { violations } = (await page.evaluate('axe.run()')) as AxeResults
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  return serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join('\n')}`)
}
