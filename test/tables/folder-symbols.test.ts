import { rmSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import type { Stock } from '../../src/model/stock.js'
import { describeUnlisted, selectFolderSymbols } from '../../src/tables/output-folder.js'
import { folderWith } from './support.js'

const stock = (symbol: string, ISIN: string, Name: string): Stock => ({
  Symbol: symbol,
  ISIN,
  Name,
  Sid: '1',
  FnoFlag: 0,
})
const stocks = [
  stock('TCS', 'INE467B01029', 'Tata Consultancy Services'),
  stock('ETERNAL', 'INE758T01015', 'Eternal'),
]
const gone = [stock('GONE', 'INE999Z01011', 'Gone')]

const select = (symbols: readonly string[], wrongSymbols?: 'report' | 'reject') => {
  const out = folderWith({
    'master_isin_map.json': stocks,
    '.scripstream/former-stocks.json': [
      { symbol: 'ZOMATO', isin: 'INE758T01015', file: 'ZOMATO', until: '2025-04-08' },
    ],
  })
  onTestFinished(() => rmSync(out, { recursive: true }))
  return selectFolderSymbols(out, { symbols, ...(wrongSymbols ? { wrongSymbols } : {}) }, { stocks, gone })
}

it('finds the stocks of a folder by any of their names, and those that are gone', async () => {
  const { wanted, wrong } = await select(['NSE:TCS', 'tata con', 'ZOMATO', 'gone'])
  expect([...(wanted ?? [])]).toEqual(expect.arrayContaining(['TCS', 'ETERNAL', 'GONE']))
  expect(wrong).toEqual([{ given: 'ZOMATO', now: 'ETERNAL' }])
})

it('refuses an unknown symbol, or notes one of a watchlist', async () => {
  await expect(select(['TCS', 'TCSS'])).rejects.toThrow('unknown symbol: TCSS (did you mean TCS?)')
  await expect(select(['TCSS'], 'report')).rejects.toThrow('unknown symbol: TCSS')
  const found = await select(['TCS', 'TCSS', 'ZOMATO'], 'report')
  expect(describeUnlisted(found)).toEqual(['not listed: TCSS (did you mean TCS?)'])
})
