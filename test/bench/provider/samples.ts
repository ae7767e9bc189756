import type { AnyEndpoint } from '../../../src/http/endpoint.js'
import type { SampleMarket, SampleStock } from '../../../src/model/market.js'

export type Row = Readonly<Record<string, unknown>>

/** The answers of the simulator about a stock. */
export interface Samples {
  rows(
    endpoint: 'company_filings' | 'lodr' | 'announcements' | 'indicator' | 'fundamental',
    stock: SampleStock,
  ): readonly Row[]
  news(stock: SampleStock): readonly Row[]
}

export const createSamples = (endpoints: readonly AnyEndpoint[], market: SampleMarket): Samples => {
  const dataOf = (name: string, input: unknown): unknown => {
    const sample = endpoints.find((endpoint) => endpoint.name === name)?.sample
    if (sample === undefined) throw new Error(`no endpoint ${name} with a sample`)
    return (sample(input, market) as { readonly data: unknown }).data
  }
  return {
    rows: (endpoint, { ISIN, Sid }) => {
      const input = endpoint === 'indicator' ? { security_id: Sid } : { data: { isin: ISIN } }
      return ([dataOf(endpoint, input) ?? []] as Row[]).flat()
    },
    news: ({ ISIN }) =>
      (dataOf('news', { stock_list: [ISIN], limit: 50 }) as { readonly latest_news: readonly Row[] })
        .latest_news,
  }
}
