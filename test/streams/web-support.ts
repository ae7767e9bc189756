import type { SentRequest } from './support.js'

export const BUILD_ID = 'build-1'
export const BUILD_PAGE = '/web/all-indices/'

export const dataPath = (key: string): string => `/web/_next/data/${BUILD_ID}/${key}.json`
export const pagePath = (key: string): string => `/web/${key}/`

export const buildPage = `<html><script id="__NEXT_DATA__" type="application/json">{"props":{},"buildId":"${BUILD_ID}"}</script></html>`

/** The site's data file around a list, some levels down and behind shorter and symbol-less lists. */
export const dataFile = (rows: unknown): object => ({
  pageProps: {
    few: [{ sym: 'A' }, { sym: 'B' }, { sym: 'C' }],
    crumbs: [{ name: 1 }, { name: 2 }, { name: 3 }, { name: 4 }],
    deep: { list: rows },
  },
})

export const webPage = (rows: unknown): string =>
  `<html><body><script id="__NEXT_DATA__" type="application/json">${JSON.stringify({ props: dataFile(rows) })}</script></body></html>`

/** Answers by path; a path that is not there is a 503. */
export const byPath =
  (answers: Readonly<Record<string, unknown>>) =>
  ({ path }: SentRequest): unknown =>
    answers[path] ?? 503

export const pathsOf = (requests: readonly SentRequest[]): readonly string[] =>
  requests.map(({ path }) => path)
