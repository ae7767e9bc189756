import { describe, expect, it } from 'vitest'
import { workedRules } from '../../../src/tables/changes/watch-rules.js'
import { duckdb, folderWith, objectsOf } from '../support.js'

const ISIN = 'INE009A01021'

const ask = (rule: string, files: Readonly<Record<string, string | object>>) =>
  objectsOf(
    workedRules.find(({ name }) => name === rule)?.sql ?? '',
    folderWith({
      '.scripstream/report.json': { run: 'a', asOf: '2026-02-12T14:30:00.000Z', scripts: {} },
      'master_isin_map.json': [{ Symbol: 'NEW', ISIN, Name: 'A', Sid: '1', FnoFlag: 0 }],
      'master_data_response.json': [{ Sym: 'NEW', Isin: ISIN, Mcap: 1000 }],
      ...files,
    }),
  )

describe.skipIf(!duckdb)('a worked rule', () => {
  it('bulk-buys takes deals under a former symbol, and adds up those of one client and day', async () => {
    const deal = (sym: string, qty: number) => ({
      date: '2026-02-10 00:00:00',
      sym,
      isin: ISIN,
      bs: 'B',
      qty,
      avgprice: 100,
      cname: 'X',
      deal: 'BULK',
    })
    expect(
      await ask('bulk-buys', { 'bulk_block_deals.json': [deal('OLD', 400_000), deal('NEW', 300_000)] }),
    ).toEqual([{ symbol: 'NEW', day: '2026-02-10', client: 'X', value_cr: 7, share_pct: 0.7 }])
  })

  it('promoter-buys compares with the quarter before, and with no older one', async () => {
    const sHp = (PROMOTER: string) => ({
      'fundamental_data.json': [
        { Symbol: 'NEW', ISIN, sHp: { YEAR: '202512|202509|202506', PROMOTER, FII: '1|1|1' } },
      ],
    })
    expect(await ask('promoter-buys', sHp('51.5|50|60'))).toEqual([
      { isin: ISIN, symbol: 'NEW', day: '2025-12-31', promoter_pct: 51.5, promoter_change_1q_pct: 1.5 },
    ])
    expect(await ask('promoter-buys', sHp('51.5||50'))).toEqual([])
    expect(await ask('promoter-buys', sHp('50|50|49'))).toEqual([])
  })
})
