import { describe, expect, it } from 'vitest'
import { type Collected, collect } from './support.js'

const FILE = 'nse_equity_list.csv'
const HEADER = 'SYMBOL,NAME OF COMPANY, SERIES, DATE OF LISTING'

const listOf = (...lines: readonly string[]): Promise<Collected> =>
  collect({ stream: 'listing-dates', answer: () => `${[HEADER, ...lines].join('\r\n')}\r\n` })

describe('listing-dates', () => {
  it('keeps each line as published, but for a cell that a spreadsheet would run', async () => {
    const { text, script, requests } = await listOf(
      ' A & B ,"Alpha, ""the"" Company",EQ,06-OCT-2008',
      'B,=HYPERLINK("http://x"),EQ,06-OCT-2008',
      'C,-,-1,  -  ',
    )
    expect(text(FILE)).toBe(
      [
        HEADER,
        ' A & B ,"Alpha, ""the"" Company",EQ,06-OCT-2008',
        'B,"\'=HYPERLINK(""http://x"")",EQ,06-OCT-2008',
        'C,-,-1,  -  ',
        '',
      ].join('\n'),
    )
    expect(script).toMatchObject({ outcome: 'success', retries: 0, files: 1 })
    expect(requests.map(({ path }) => path)).toEqual(['/archive/content/equities/EQUITY_L.csv'])
    expect(requests[0]?.headers['user-agent']).toMatch(/^Mozilla\/5\.0 /)
  })

  it('reads a table whose line ends differ, and no formula hides behind one', async () => {
    const { text, script } = await listOf(
      'A,Alpha,EQ,06-OCT-2008\rB,=1+1,EQ,06-OCT-2008\nC,Gamma,EQ,06-OCT-2008',
    )
    const lines = [HEADER, 'A,Alpha,EQ,06-OCT-2008', "B,'=1+1,EQ,06-OCT-2008", 'C,Gamma,EQ,06-OCT-2008', '']
    expect(text(FILE)).toBe(lines.join('\n'))
    expect(script).toMatchObject({ outcome: 'success', retries: 0 })
  })

  it.each([
    'A,"Alpha\r\n=1+1",EQ,06-OCT-2008',
    'A,"Alpha\n",EQ,06-OCT-2008',
    'A,"Alpha\r=1+1",EQ,06-OCT-2008',
    'A,Alpha,EQ,06-OCT-2008\n\n"B,",=1+1,EQ\n,06-OCT-2008',
  ])(
    'is not had from a table whose records and lines are not the same, where a formula could hide: %j',
    async (lines) => {
      const { text, script } = await listOf(lines)
      expect(script).toMatchObject({ outcome: 'failed', items: { error: 1 } })
      expect(text(FILE)).toBeUndefined()
    },
  )
})
