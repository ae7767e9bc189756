import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { collect } from './support.js'
import { BUILD_PAGE, byPath, pathsOf } from './web-support.js'

/**
 * What real sites answered: built by `next build` and served by `next start`, with trailing slashes. The one
 * of the pages router has two locales and a build id with signs; its ASM list is a static page, its GSM list
 * a fallback that nobody has filled. In the one of the app router the GSM list is rendered for each request.
 */
interface NextSite {
  readonly next: string
  readonly pagesRouter: BuiltSite
  readonly appRouter: BuiltSite
}
interface BuiltSite {
  readonly buildId: string
  /** The text, or a status, by path. */
  readonly answers: Readonly<Record<string, string | number>>
}

const FOLDER = new URL('next-sites/', import.meta.url)
const sites = readdirSync(FOLDER).map(
  (file): NextSite => JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')),
)

const RECORDS = [
  { Symbol: 'ALPHA', Name: 'Alpha "A" </script> Ltd', ISIN: 'INE000000013', Stage: 'LTASM - I (13)' },
  { Symbol: 'BETA', Name: 'Béta Ltd', ISIN: 'INE000000021', Stage: 'LTASM - II (1)' },
  { Symbol: 'GAMMA', Name: '$Gamma Ltd', ISIN: 'INE000000039', Stage: 'STASM - I (1)' },
  { Symbol: 'DELTA', Name: 'Delta Ltd', ISIN: 'INE000000047', Stage: 'GSM - 0 (99)' },
  { Symbol: 'OMEGA', Name: 'Omega Ltd', ISIN: 'INE000000054', Stage: 'GSM - VI (6)' },
]

const collectFrom = async (answers: BuiltSite['answers']) => {
  const onHost = Object.fromEntries(Object.entries(answers).map(([path, answer]) => [`/web${path}`, answer]))
  const { text, requests, script } = await collect({
    stream: 'surveillance-lists',
    answer: byPath(onHost),
    settings: { retries: 0 },
  })
  const paths = pathsOf(requests).filter((path) => path.startsWith('/web/'))
  const read = (list: string): unknown => JSON.parse(text(`nse_${list}_list.json`) ?? '')
  return { asm: read('asm'), gsm: read('gsm'), paths, script }
}

it('has sites of several versions of Next.js', () => {
  expect(sites.map(({ next }) => Number.parseInt(next, 10))).toEqual([14, 15, 16])
})

describe.each(sites)('a site of Next.js $next', ({ pagesRouter, appRouter }) => {
  const dataOf = ({ buildId }: BuiltSite, file: string) => `/_next/data/${buildId}/${file}.json`

  it('with the pages router is asked for its data file with build id and locale as they are', async () => {
    const { asm, paths } = await collectFrom({ ...pagesRouter.answers, '/nse-asm-list/': 503 })
    expect(asm).toEqual(RECORDS)
    expect(paths.slice(0, 3)).toEqual([
      BUILD_PAGE,
      `/web${dataOf(pagesRouter, 'nse-asm-list')}`,
      `/web${dataOf(pagesRouter, 'en/nse-asm-list')}`,
    ])
  })

  it('with the pages router is read from a page without its data file', async () => {
    const { asm } = await collectFrom({
      ...pagesRouter.answers,
      [dataOf(pagesRouter, 'en/nse-asm-list')]: 404,
    })
    expect(asm).toEqual(RECORDS)
  })

  it('with the pages router has a fallback page that is named, and no list from it', async () => {
    const { gsm, script } = await collectFrom(pagesRouter.answers)
    expect(gsm).toEqual([])
    expect(script.error).toContain('the page is a fallback that the site has not filled')
  })

  it('with the pages router has a redirect in place of data, whose target is named', async () => {
    const { script } = await collectFrom({
      ...pagesRouter.answers,
      [dataOf(pagesRouter, 'nse-gsm-list')]: pagesRouter.answers[dataOf(pagesRouter, 'en/old-list')] ?? '',
    })
    expect(script.error).toContain('the page has moved to /nse-asm-list')
  })

  it('with the app router is asked for data of its build, then read from its static and rendered pages', async () => {
    const { asm, gsm, paths } = await collectFrom({
      ...appRouter.answers,
      [dataOf(appRouter, 'nse-gsm-list')]: 404,
    })
    expect(asm).toEqual(RECORDS)
    expect(gsm).toEqual(RECORDS)
    expect(paths).toContain(`/web${dataOf(appRouter, 'nse-asm-list')}`)
  })
})
