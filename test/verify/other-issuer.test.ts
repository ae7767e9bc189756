import { expect, it } from 'vitest'
import { parseFormerStocks } from '../../src/market/former-stocks.js'
import type { Stock } from '../../src/model/stock.js'
import { createStockIndex, findOtherIssuers, findStrayDocument } from '../../src/verify/stray-records.js'

const [OLD, NEW] = ['INE149K01016', 'INE0ZZZ01018']
const value: Stock = { Symbol: 'A', ISIN: NEW, Name: 'A Limited', Sid: '1', FnoFlag: 0 }
const item = { key: 'A', rank: 0, fileName: 'A', value }
const FILE = 'company_filings/A_filings.json'

/** What is found in the filings of a stock whose ISIN was another one, with this security id. */
const find = (sid: string, isin = OLD) => {
  const former = [{ symbol: 'A', isin, name: 'A', sid, file: 'A', until: '2026-02-03' }]
  const index = createStockIndex([value], parseFormerStocks(former))
  return [...findOtherIssuers(index), ...findStrayDocument(FILE, { data: [{ isin }] }, item, index)].map(
    ({ severity, detail }) => `${severity}: ${detail}`,
  )
}

it('a stock of another issuer with the same security id is a warning in every later check', () => {
  expect(find('1')).toEqual([
    `warning: its ISIN is ${NEW}, and was ${OLD} of another issuer until 2026-02-03; the security id 1 stayed, so its files continue as those of one company`,
  ])
})

it('the records of another company are an error, and those of the same issuer none', () => {
  expect(find('2')).toEqual([`error: it has records of ${OLD}, not of A (${NEW})`])
  expect(find('2', 'INE0ZZZ01026')).toEqual([])
})
