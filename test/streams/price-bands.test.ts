import { describe, expect, it } from 'vitest'
import { toInstant } from '../../src/model/trading-day.js'
import { arrayOf, type Collecting, collect, type SentRequest, withFile } from './support.js'

const CHANGES = 'Sr. No,Symbol,Series, Security Name,From,To\n1,ALPHA ,EQ, ALPHA LIMITED,10,5\n'
const LIST =
  'Symbol ,Series, Security Name,Band , Remarks\nALPHA,EQ,"ALPHA, LTD",No Band,-\n 007 ,BE, BETA ,05.00,\n'

const kinds = [
  {
    stream: 'incremental-price-bands',
    prefix: 'eq_band_changes',
    file: 'incremental_price_bands.json',
    csv: CHANGES,
  },
  { stream: 'complete-price-bands', prefix: 'sec_list', file: 'complete_price_bands.json', csv: LIST },
] as const

const pathsOf = (requests: readonly SentRequest[]): readonly string[] => requests.map(({ path }) => path)

describe.each(kinds)('$stream', ({ stream, prefix, file, csv }) => {
  const pathOn = (day: string): string => `/archive/content/equities/${prefix}_${day}.csv`
  const bands = (answers: Readonly<Record<string, unknown>>, more: Partial<Collecting> = {}) =>
    collect({ stream, answer: ({ path }) => answers[path] ?? 404, ...more })

  it('uses today’s file if there is one, and requests no other', async () => {
    const { requests, script } = await bands({ [pathOn('12022026')]: csv, [pathOn('11022026')]: csv })
    expect(pathsOf(requests)).toEqual([pathOn('12022026')])
    expect(script).toMatchObject({ outcome: 'success', items: { success: 1 }, files: 1 })
  })

  it('goes back day by day where there is none, over the end of a year', async () => {
    const { requests, text } = await bands(
      { [pathOn('31122025')]: csv },
      { asOf: toInstant('2026-01-02', '09:00') },
    )
    expect(pathsOf(requests)).toEqual([pathOn('02012026'), pathOn('01012026'), pathOn('31122025')])
    expect(text(file)).toContain('ALPHA')
  })

  it('takes the file of the eighth day, and no older one', async () => {
    const { requests, script } = await bands({ [pathOn('05022026')]: csv })
    expect(requests).toHaveLength(8)
    expect(script.outcome).toBe('success')
    const nothing = await bands({ [pathOn('04022026')]: csv }, { files: withFile(file, 'the good one') })
    expect(nothing.requests).toHaveLength(8)
    expect(nothing.script).toMatchObject({ outcome: 'failed', items: { success: 0 } })
    expect(nothing.report.outcome).toBe('partial')
    expect(nothing.text(file)).toBe('the good one')
  })

  it.each([
    { status: 429, attempts: 18 },
    { status: 403, attempts: 1 },
    { status: 410, attempts: 1 },
  ])(
    'does not use the file of an older day when the provider answers $status',
    async ({ status, attempts }) => {
      const { requests, script } = await bands({ [pathOn('12022026')]: status, [pathOn('11022026')]: csv })
      expect(pathsOf(requests)).toEqual(Array.from({ length: attempts }, () => pathOn('12022026')))
      expect(script.outcome).toBe('failed')
    },
  )

  it('does not use the file of an older day when the host is down', async () => {
    const { requests, script } = await bands({ [pathOn('12022026')]: 503, [pathOn('11022026')]: csv })
    expect(new Set(pathsOf(requests))).toEqual(new Set([pathOn('12022026')]))
    expect(script.outcome).toBe('failed')
  })

  it('rejects a page, or a table without the columns', async () => {
    for (const body of ['<html>maintenance</html>', 'A,B\n1,2\n', '']) {
      const { script, requests } = await bands({ [pathOn('12022026')]: body, [pathOn('11022026')]: csv })
      expect(script).toMatchObject({ outcome: 'failed', items: { error: 1 } })
      expect(new Set(pathsOf(requests))).toEqual(new Set([pathOn('12022026')]))
    }
  })

  it('refuses a file that ends inside a row', async () => {
    const { script } = await bands({ [pathOn('12022026')]: csv.slice(0, csv.indexOf('ALPHA') + 8) })
    expect(script).toMatchObject({ outcome: 'failed', items: { error: 1 } })
  })
})

describe('a file with only a header', () => {
  const header = (csv: string) => csv.slice(0, csv.indexOf('\n') + 1)

  it('is a day without changes', async () => {
    const { text, script } = await collect({
      stream: 'incremental-price-bands',
      answer: () => header(CHANGES),
    })
    expect(text('incremental_price_bands.json')).toBe('[]\n')
    expect(script).toMatchObject({ outcome: 'success', items: { empty: 1 } })
  })

  it('is not accepted as the list of all securities', async () => {
    const { text, script } = await collect({ stream: 'complete-price-bands', answer: () => header(LIST) })
    expect(text('complete_price_bands.json')).toBeUndefined()
    expect(script).toMatchObject({ outcome: 'failed', items: { error: 1 } })
  })
})

describe('price bands', () => {
  it('are the same whichever line end the file has', async () => {
    const [unix, windows] = [LIST, LIST.replaceAll('\n', '\r\n')].map((csv) =>
      collect({ stream: 'complete-price-bands', answer: () => csv }),
    )
    expect((await windows)?.text('complete_price_bands.json')).toBe(
      (await unix)?.text('complete_price_bands.json'),
    )
  })

  it('are written with trimmed headers and cells, numbers as the text that the file has', async () => {
    const incremental = await collect({ stream: 'incremental-price-bands', answer: () => CHANGES })
    expect(incremental.text('incremental_price_bands.json')).toBe(
      arrayOf({
        'Sr. No': '1',
        Symbol: 'ALPHA',
        Series: 'EQ',
        'Security Name': 'ALPHA LIMITED',
        From: '10',
        To: '5',
      }),
    )
    const complete = await collect({ stream: 'complete-price-bands', answer: () => LIST })
    expect(complete.text('complete_price_bands.json')).toBe(
      arrayOf(
        { Symbol: 'ALPHA', Series: 'EQ', 'Security Name': 'ALPHA, LTD', Band: 'No Band', Remarks: '-' },
        { Symbol: '007', Series: 'BE', 'Security Name': 'BETA', Band: '05.00', Remarks: '' },
      ),
    )
  })
})

describe('listing-dates', () => {
  const listed = 'SYMBOL,NAME OF COMPANY, SERIES, DATE OF LISTING\r\nALPHA, Alpha "A" Ltd ,EQ,06-OCT-2008\r\n'

  it.each([
    '<html></html>',
    '',
    'SYMBOL,SERIES\nALPHA,EQ\n',
    listed.slice(0, listed.indexOf('\n') + 1),
    listed.slice(0, -20),
  ])('keeps the earlier file when the answer is %j', async (answer) => {
    const files = withFile('nse_equity_list.csv', 'the good one')
    const { text, script, report } = await collect({ stream: 'listing-dates', answer: () => answer, files })
    expect(text('nse_equity_list.csv')).toBe('the good one')
    expect(script.outcome).toBe('failed')
    expect(report.outcome).toBe('partial')
  })
})
