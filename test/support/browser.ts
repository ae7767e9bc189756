import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'

const PATHS = [
  process.env.SCRIPSTREAM_TEST_BROWSER ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]
const executablePath = PATHS.find((path) => path !== '' && existsSync(path))

/** Why tests of the page in a browser are skipped; undefined if there is one. */
export const noBrowser = executablePath === undefined ? 'no Chromium here; set SCRIPSTREAM_TEST_BROWSER to its path' : undefined

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

/** Opens a path in a new page. `problems` collects what the browser complains about: errors of scripts, refused resources, failed requests. */
export const openPage = async (
  browser: Browser,
  address: string,
  { width = 1440, height = 900, dark = false }: { readonly width?: number; readonly height?: number; readonly dark?: boolean } = {},
): Promise<{ readonly page: Page; readonly problems: readonly string[] }> => {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light' })
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(address).origin) problems.push(`asked ${request.url()}`)
  })
  await page.goto(address)
  return { page, problems }
}
