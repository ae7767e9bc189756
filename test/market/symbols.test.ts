import { describe, expect, it } from 'vitest'
import { describeWrongSymbol, resolveSymbols } from '../../src/market/symbols.js'

const stock = (symbol: string, ISIN: string, Name: string) => ({ Symbol: symbol, ISIN, Name })

const stocks = [
  stock('TCS', 'INE467B01029', 'Tata Consultancy Services'),
  stock('TATASTEEL', 'INE081A01020', 'Tata Steel Ltd'),
  stock('M&M', 'INE101A01026', 'Mahindra & Mahindra'),
  stock('M&MFIN', 'INE774D01024', 'Mahindra & Mahindra Financial Services'),
  stock('ETERNAL', 'INE758T01015', 'Eternal'),
  stock('A.NS', 'INE000A01000', 'Odd'),
]
const earlier = [
  stock('ZOMATO', 'INE758T01015', 'Zomato'),
  stock('TATASTEEL', 'INE081A01012', 'Tata Steel'),
  stock('GONE', 'INE999Z01011', 'Gone'),
]

const resolve = (text: string) => resolveSymbols([text], stocks, earlier)

describe('a symbol', () => {
  it.each([
    ['tcs', 'TCS'],
    ['NSE:TCS', 'TCS'],
    ['BSE:TCS', 'TCS'],
    ['tcs.ns', 'TCS'],
    ['TCS.BO', 'TCS'],
    ['A.NS', 'A.NS'],
    ['ine467b01029', 'TCS'],
    ['NSE:M&M', 'M&M'],
    ['INE081A01012', 'TATASTEEL'],
    ['tata  consultancy services', 'TCS'],
    ['Tata Steel Limited', 'TATASTEEL'],
    ['tata s', 'TATASTEEL', 'tata s is TATASTEEL (Tata Steel Ltd)'],
    ['Mahindra & Mahindra', 'M&M'],
    [
      'mahindra & mahindra fin',
      'M&MFIN',
      'mahindra & mahindra fin is M&MFIN (Mahindra & Mahindra Financial Services)',
    ],
  ])('may be given as %s', (text, symbol, ...guesses) => {
    expect(resolve(text)).toStrictEqual({ symbols: [symbol], wrong: [], guesses })
  })

  it.each(['ZOMATO', 'nse:zomato', 'ZOMATO.BO'])(
    'of earlier means the stock with the same ISIN: %s',
    (given) => {
      const { symbols, wrong } = resolve(given)

      expect({ symbols, wrong }).toStrictEqual({ symbols: ['ETERNAL'], wrong: [{ given, now: 'ETERNAL' }] })
      expect(wrong.map(describeWrongSymbol)).toEqual([`${given} is now ETERNAL`])
    },
  )

  it('of a listed stock goes before the same symbol of another stock earlier', () => {
    expect(resolveSymbols(['TCS'], stocks, [stock('TCS', 'INE758T01015', '')])).toStrictEqual({
      symbols: ['TCS'],
      wrong: [],
      guesses: [],
    })
  })

  it.each([
    ['TCSS', 'TCSS (did you mean TCS?)'],
    ['NSE:TCSS', 'NSE:TCSS (did you mean TCS?)'],
    ['tata', 'tata (did you mean TCS or TATASTEEL?)'],
    ['consultancy', 'consultancy (did you mean TCS?)'],
    ['GONE', 'GONE'],
    ['ta', 'ta'],
    ['INE467B01030', 'INE467B01030'],
  ])('that is unknown comes with suggestions: %s', (text, says) => {
    const { symbols, wrong } = resolve(text)

    expect(wrong.map(describeWrongSymbol)).toEqual([says])
    expect(symbols).toEqual([text.toUpperCase().replace('NSE:', '')])
  })

  it('counts once in all its spellings', () => {
    expect(
      resolveSymbols(
        ['TCS', 'NSE:TCS', 'INE467B01029', 'Tata Consultancy Services', 'foo', 'FOO.NS'],
        stocks,
      ),
    ).toMatchObject({
      symbols: ['TCS', 'FOO'],
      wrong: [{ given: 'foo' }],
    })
  })
})
