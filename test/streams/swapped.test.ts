import { expect, it } from 'vitest'
import { isRow } from '../../src/model/row.js'
import { type Collecting, collect, type FakeStock, type SentRequest, stockNamed } from './support.js'

const STOCKS = 250
const stocks = Array.from({ length: STOCKS }, (_, place) => stockNamed(`S${place}`, place))

const askedFor = ({ body }: SentRequest): FakeStock => {
  const text = JSON.stringify(body)
  const stock = stocks.find(({ Isin }) => text.includes(Isin))
  if (stock === undefined) throw new Error(`no stock is named in ${text}`)
  return stock
}

const rowOf = ({ Isin }: FakeStock) => ({
  isin: Isin,
  news_id: `n-${Isin}`,
  news_date: '2026-02-11 10:00:00',
  of: Isin,
})

/**
 * Answers that are one behind: each stock gets the answer of the previous one, as on a connection on which a
 * late answer shifted all others.
 */
const late = (every: number) => {
  let before: FakeStock | undefined
  let count = 0
  return (request: SentRequest) => {
    const own = askedFor(request)
    count += 1
    const answered = count % every === 0 ? (before ?? own) : own
    before = own
    return { data: [rowOf(answered)] }
  }
}

const outcome = async (more: Pick<Collecting, 'stream' | 'answer'>) => {
  const { files, script } = await collect({
    ...more,
    master: stocks,
    settings: { retries: 0, workers: { [more.stream]: 1 } },
  })
  const stored = [...files]
    .filter(([file]) => /filings\/|fundamental/.test(file))
    .flatMap(([file, { text }]) => recordsIn(file, JSON.parse(text)))
  return { script, stored }
}

/** The stock under which each record is stored, and the stock to which it belongs. */
const recordsIn = (
  file: string,
  document: unknown,
): readonly { readonly under: unknown; readonly of: unknown }[] => {
  const rows = isRow(document) ? (document.data as readonly unknown[]) : (document as readonly unknown[])
  const symbol = /(S\d+)_filings/.exec(file)?.[1]
  return rows
    .filter(isRow)
    .map(({ of, ISIN }) => ({ under: ISIN ?? stocks.find(({ Sym }) => Sym === symbol)?.Isin, of }))
}

it.each([
  { stream: 'fundamental-data', every: 1, lost: STOCKS - 1 },
  { stream: 'fundamental-data', every: 2, lost: STOCKS / 2 },
  { stream: 'company-filings', every: 2, lost: 0 },
  { stream: 'company-filings', every: 3, lost: 0 },
])(
  'no answer that came for another stock is stored: $stream, every $every',
  async ({ stream, every, lost }) => {
    const { script, stored } = await outcome({ stream, answer: late(every) })
    expect(stored.length).toBeGreaterThan(0)
    expect(stored.filter(({ under, of }) => under !== of)).toEqual([])
    expect(script.items.error).toBe(lost)
  },
)

it('a thousand swapped answers are all refused as another stock’s', async () => {
  const other = (request: SentRequest) =>
    rowOf(stocks[(stocks.indexOf(askedFor(request)) + 1) % STOCKS] as FakeStock)
  let swapped = 0
  const answer = (request: SentRequest) => {
    swapped += 1
    return { data: [rowOf(askedFor(request)), other(request)] }
  }
  for (const stream of ['fundamental-data', 'company-filings', 'new-announcements', 'advanced-indicators']) {
    const { script, stored } = await outcome({ stream, answer })
    expect(script.outcome).toBe('failed')
    expect(script.error).toMatch(/other-stock: the answer is about another stock \(INE/)
    expect(stored).toEqual([])
  }
  expect(swapped).toBeGreaterThanOrEqual(1_000)
})

it('news of another stock are not stored for the requested one', async () => {
  const item = {
    publish_date: 1_770_890_400_000,
    news_object: { title: 'x', text: '', overall_sentiment: '' },
  }
  const answer = (request: SentRequest) => ({
    data: {
      latest_news: [{ ...item, isin: stocks[(stocks.indexOf(askedFor(request)) + 1) % STOCKS]?.Isin }],
    },
  })
  const { script, files } = await collect({
    stream: 'market-news',
    answer,
    master: stocks,
    settings: { retries: 0 },
  })
  expect(script).toMatchObject({
    outcome: 'failed',
    items: { error: STOCKS },
    error: expect.stringContaining('other-stock: '),
  })
  expect([...files.keys()].filter((file) => file.startsWith('market_news/'))).toEqual([])
})
