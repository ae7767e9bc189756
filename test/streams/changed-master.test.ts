import { describe, expect, it } from 'vitest'
import { type Collecting, collect, stockNamed } from './support.js'

const masterOf = (master: readonly object[], more: Partial<Collecting> = {}) =>
  collect({ stream: 'master-data', answer: () => 404, master, ...more })

const stocksNamed = (count: number) => Array.from({ length: count }, (_, place) => stockNamed(`S${place}`, place))
const outputsIn = (files: Collecting['files']) => [...(files ?? [])].filter(([file]) => !file.startsWith('.scripstream'))

describe('a master list that differs too much from the stored one', () => {
  it.each(['Sym', 'Isin', 'Sid'] as const)(
    'stops the run when every %s is the one of the next stock, unless that is accepted',
    async (name) => {
      const stocks = stocksNamed(60)
      const files = (await masterOf(stocks)).files
      const before = outputsIn(files)
      const shifted = stocks.map((one, place) => ({ ...one, [name]: stocks[(place + 1) % stocks.length]?.[name] }))
      const { report, script, requests } = await masterOf(shifted, { files, only: ['fundamental-data'] })
      expect(report).toMatchObject({ outcome: 'failed', error: expect.stringMatching(/^master-data failed: identity: 60 of 60 stocks/) })
      expect(script.problems).toMatchObject([{ item: 'all', status: 'error', code: 'identity' }])
      expect(requests).toEqual([])
      expect(outputsIn(files)).toEqual(before)

      const accepted = await masterOf(shifted, { files, accept: ['identity'] })
      expect(accepted.report).toMatchObject({ outcome: 'complete', stocks: 60 })
      expect(accepted.script.problems[0]?.reason).toMatch(/^accepted although 60 of 60 stocks have another symbol, ISIN or Sid at once/)
    },
  )

  it('stops the run when a quarter of the stocks left at once, unless that is accepted', async () => {
    const stocks = stocksNamed(60)
    const files = (await masterOf(stocks, { tot_rec: 60 })).files
    const before = outputsIn(files)
    const { report } = await masterOf(stocks.slice(0, 45), { tot_rec: 45, files })
    expect(report).toMatchObject({ outcome: 'failed', error: 'master-data failed: shrink: 15 of 60 stocks are no longer listed' })
    expect(outputsIn(files)).toEqual(before)
    expect((await masterOf(stocks.slice(0, 45), { tot_rec: 45, files, accept: ['shrink'] })).report).toMatchObject({
      outcome: 'complete',
      stocks: 45,
    })
  })
})
