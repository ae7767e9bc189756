import { describe, expect, it } from 'vitest'
import { search } from '../../src/show/stocks.js'
import { ISIN, marketWith, openFolder, stock } from './support.js'

const folder = marketWith({
  'master_isin_map.json': [
    stock('TATACHEM', 'INE092A01019', 'Tata Chemicals'),
    stock('TCS', ISIN, 'Tata Consultancy Services'),
    stock('ETERNAL', 'INE758T01015', 'Eternal'),
    stock('<IMG SRC=X>', 'INE000000001', '<script>alert(1)</script>'),
  ],
  'all_indices_list.json': [
    { Sym: 'NIFTY', DispSym: 'Nifty 50', Sid: 1 },
    { Sym: 'CAPINS', DispSym: 'One', Sid: 2 },
    { Sym: 'CAPINS', DispSym: 'Two', Sid: 3 },
  ],
  '.scripstream/former-stocks.json': [
    { symbol: 'ZOMATO', isin: 'INE758T01015', file: 'ZOMATO', until: '2025-04-08' },
    { symbol: 'BROKEN', until: '2025-04-08' },
  ],
})

const found = async (text: string) => (await search(folder, text)).map(({ key }) => key)

describe('the search', () => {
  it('finds by symbol, by name, by a word in it, and by ISIN, the best match first', async () => {
    expect(await found('tcs')).toEqual(['TCS'])
    expect(await found('tata')).toEqual(['TATACHEM', 'TCS'])
    expect(await found('consult')).toEqual(['TCS'])
    expect(await found(ISIN)).toEqual(['TCS'])
    expect(await found('NSE:TCS')).toEqual(['TCS'])
  })

  it('finds a stock by the symbol that it had in an earlier list, and names it', async () => {
    expect(await search(folder, 'zomato')).toMatchObject([{ key: 'ETERNAL', oldSymbol: 'ZOMATO' }])
  })

  it('finds indices, and tells two of one symbol apart', async () => {
    expect(await search(folder, 'nifty')).toMatchObject([{ kind: 'index', key: 'NIFTY', name: 'Nifty 50' }])
    expect(new Set(await found('capins')).size).toBe(2)
  })

  it('answers hostile and empty texts', async () => {
    expect(await found('<img')).toEqual(['<IMG SRC=X>'])
    for (const text of ['', '   ', '../', '\u202e', '.*', '(']) expect(await found(text), text).toEqual([])
  })

  it('of a folder without a list finds nothing', async () => {
    expect(await search(openFolder('/nowhere/at/all'), 'tcs')).toEqual([])
  })
})
