import { z } from 'zod'
import { BadAnswer } from '../model/errors.js'
import type { SampleMarket } from '../model/market.js'
import { isRow, type Row } from '../model/row.js'
import { json, pageJson } from './answer.js'
import { get } from './endpoint.js'

const DEEPEST = 12

/** The page whose source names the build that the site's data files belong to. */
export const buildIdPage = get({
  name: 'web_build_id',
  host: 'web',
  path: '/all-indices/',
  input: z.strictObject({}),
  read: (page) => {
    const at = page.indexOf('"buildId"')
    const id = at < 0 ? undefined : /^"buildId"\s*:\s*"([^"]{1,100})"/.exec(page.slice(at, at + 200))?.[1]
    if (id === undefined) throw new BadAnswer('schema', 'the page names no buildId')
    return id
  },
  type: 'text/html',
  sample: (_, { buildId }) => pageWith({ props: { pageProps: {} }, page: '/all-indices', buildId }),
})

/** The rows of the pages with the given keys, as the site's data files hold them. */
export const webData = (key: z.ZodType<string>, sampleRows: SampleRows) =>
  get({
    name: 'web_data',
    host: 'web',
    path: '/_next/data/{buildId}/{key}.json',
    input: z.strictObject({ buildId: z.string(), key }),
    read: (text) => firstList(json(z.looseObject({ pageProps: z.unknown() }))(text).pageProps),
    sample: (asked, market) => {
      const rows = asked.buildId === market.buildId ? sampleRows(asked.key, market) : undefined
      return rows && { pageProps: { meta: { title: asked.key }, content: { blocks: [{ list: rows }] } }, __N_SSG: true }
    },
  })

/** The rows of the pages with the given keys, as the pages themselves hold them. */
export const webPage = (key: z.ZodType<string>, sampleRows: SampleRows) =>
  get({
    name: 'web_page',
    host: 'web',
    path: '/{key}/',
    input: z.strictObject({ key }),
    read: (text) => firstList(pageJson(z.looseObject({ props: z.looseObject({ pageProps: z.unknown() }) }))(text).props.pageProps),
    type: 'text/html',
    sample: (asked, market) => {
      const rows = sampleRows(asked.key, market)
      return rows && pageWith({ props: { pageProps: { data: { list: rows } } }, buildId: market.buildId })
    },
  })

/** The rows that the embedded provider's site shows under a key; nothing if it has no such page. */
export type SampleRows = (key: string, market: SampleMarket) => readonly Row[] | undefined

/** The first array of more than 3 records whose first has a symbol, wherever it lies (interface document, endpoint 11). */
const firstList = (root: unknown): readonly Row[] => {
  const list = search(root, 0)
  if (list === undefined) throw new BadAnswer('schema', 'the page holds no list of stocks')
  return list
}

const search = (value: unknown, depth: number): readonly Row[] | undefined => {
  if (typeof value !== 'object' || value === null || depth > DEEPEST) return undefined
  if (Array.isArray(value) && value.length > 3 && isRow(value[0]) && ('sym' in value[0] || 'Sym' in value[0])) return value.filter(isRow)
  for (const inner of Object.values(value)) {
    const list = search(inner, depth + 1)
    if (list !== undefined) return list
  }
  return undefined
}

const pageWith = (data: unknown): string =>
  `<!DOCTYPE html><html><body><div id="__next"></div><script id="__NEXT_DATA__" type="application/json">${JSON.stringify(data)}</script></body></html>`
