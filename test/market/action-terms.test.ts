import { describe, expect, it } from 'vitest'
import { isUnknownAction, readAmount, readTerms } from '../../src/market/action-terms.js'

describe('the terms of a corporate action', () => {
  it.each([
    ['SPLIT', '2:10', 'split', [5, 0.2]],
    ['SPLIT', '10:2', 'split', [0.2, 5]],
    ['SUB-DIVISION', '2:10', 'split', [5, 0.2]],
    ['Sub division', '1 : 10', 'split', [10, 0.1]],
    ['SPLIT', 'From Rs 10/- Per Share To Rs 2/- Per Share', 'split', [5]],
    ['Face Value Split (Sub-Division) - From Rs.10/- Per Share To Re.1/- Per Share', 'NA', 'split', [10]],
    [
      'FACE VALUE CHANGE',
      'Face Value Split (Sub-Division) - From Rs.10/- Per Share To Re.1/- Per Share',
      'split',
      [10],
    ],
    ['SPLIT', 'From Re 1 To Rs 10', 'split', [0.1]],
    ['CONSOLIDATION', '10:1', 'consolidation', [0.1]],
    ['CONSOLIDATION', '1:100', 'consolidation', [0.01]],
    ['Consolidation of shares', 'From Re 1/- to Rs 10/-', 'consolidation', [0.1]],
    ['REVERSE SPLIT', '1 for 10', 'consolidation', [0.1]],
    ['BONUS', '1:10', 'bonus', [1.1, 11]],
    ['BONUS', '4:1', 'bonus', [5, 1.25, 4]],
    ['bonus issue', '1:1', 'bonus', [2, 2]],
    ['RIGHTS', '1:1', 'rights', [2, 2]],
    ['DEMERGER', 'NA', 'demerger', []],
    ['Spin Off', 'NA', 'demerger', []],
    ['Capital Reduction', 'NA', 'capital reduction', []],
    ['Scheme of amalgamation', '1:3', 'merger', []],
    ['BUYBACK', 'NA', 'buyback', []],
    ['Buy Back of shares', 'Rs 500', 'buyback', []],
    ['CORPORATE ACTION', 'Bonus 1:1', 'bonus', [2, 2]],
    ['FACE VALUE CHANGE', 'FV SPLT FRM RS 10 TO RE 1', 'split', [10]],
    ['SUB-DIV', '1:10', 'split', [10, 0.1]],
    ['SCHEME OF ARRANGEMENT', 'NA', 'demerger', []],
    ['INTDIV', 'Rs 5', 'dividend', []],
    ['BONUS', '1:1 (from 10 to 20 crore shares)', 'bonus', [2, 2]],
    // Two actions in one text: nobody knows whose the numbers are.
    ['BONUS 1:2 / SPLIT 2:10', 'NA', 'split', []],
    ['BONUS', '1:1/FACE VALUE SPLIT FROM RS 10 TO RS 2', 'bonus', []],
    ['BONUS', '1:1/SPLIT 1:10', 'bonus', []],
  ])('are read from %s, %s: %s %j', (type, note, kind, factors) => {
    expect(readTerms(type, note)).toMatchObject({
      kind,
      factors: factors.map((one) => expect.closeTo(one, 12)),
    })
  })

  it.each([
    ['2.5', 2.5],
    ['20', 20],
    ['0', 0],
    ['.5', 0.5],
    ['Rs 2.50 Per Share', 2.5],
    ['Re.0.50', 0.5],
    ['Rs.5', 5],
    ['Re 1/- Per Share', 1],
    ['12/-', 12],
    ['Rs. 1,000.00', 1000],
    ['₹ 7.25', 7.25],
    ['INR 3', 3],
    ['50 paise', 0.5],
    ['Interim Dividend - Rs 5 Per Share/Special Dividend - Rs 10 Per Share', 15],
    ['Rs 2 per equity share of Rs 10 each', 2],
    ['Dividend per share Rs 4 (face value Rs. 10)', 4],
    ['Div. 6', 6],
    ['50p', 0.5],
    ['Re 1 and 50 paise', 1.5],
    ['Rs 3 (Interim Rs 2 + Special Re 1)', 3],
    ['Rs.10 as Final & Special Rs.5 aggregating Rs.15', 15],
    ['Rs 5 per Rs 10 share', 5],
    ['Rs 5 on par value of Rs 10', 5],
    ['Rs 5/- on Rs. 10/- paid up', 5],
    ['Final FY26', undefined],
    ['250%', undefined],
    ['1:2', undefined],
    ['NA', undefined],
    ['', undefined],
    ['From Rs 10 To Rs 2', undefined],
    ['2 or 3', undefined],
  ])('have the rupees of a dividend in %s: %s', (note, amount) => {
    expect(readAmount(note)).toBe(amount)
  })

  it('have the percent of a face value, which is no amount', () => {
    expect(readTerms('DIVIDEND', '250%')).toEqual({
      kind: 'dividend',
      factors: [],
      percent: 250,
      isReadable: true,
    })
    for (const type of ['INTERIM DIVIDEND', 'Final dividend', 'SPECIAL DIVIDEND'])
      expect(readTerms(type, '5')).toEqual({ kind: 'dividend', factors: [], amount: 5, isReadable: true })
  })

  it.each([
    ['DISTRIBUTION', 'Rs 2.5 Per Unit', 2.5],
    ['INTEREST', '1.75', 1.75],
    ['RETURN OF CAPITAL', 'Re 0.50', 0.5],
    ['Repayment of debt', '0.4', 0.4],
    ['InvIT', 'Interest - Rs 2.50 Per Unit/Return Of Capital - Re 0.50 Per Unit', 3],
    ['INTEREST', '8%', undefined],
  ])('have what a trust pays, like a dividend: %s, %s: %s', (type, note, amount) => {
    expect(readTerms(type, note)).toEqual({
      kind: 'dividend',
      factors: [],
      ...(amount === undefined ? {} : { amount }),
      isReadable: amount !== undefined,
    })
  })

  it.each([
    ['BONUS & DIVIDEND', 'Bonus 1:1/Dividend Rs 5 Per Share', 'bonus', 5],
    ['BONUS & DIVIDEND', '1:1 & Rs 5', 'bonus', 5],
    ['DIVIDEND', 'Rs 5 Per Share/Bonus 1:1', 'bonus', 5],
    ['SPLIT', 'From Rs 10/- To Rs 2/- / Dividend Rs 5', 'split', 5],
    ['SPLIT', 'Interim Dividend - Re 1, Special Dividend - Rs 2/Split From Rs 10 To Rs 2', 'split', 3],
    ['RIGHTS', '1:4 @ Rs 100 / Dividend - Rs 5', 'rights', 5],
    ['RIGHTS AND DIVIDEND', '1:4 @ Rs 100', 'rights', null],
    ['BONUS AND DIVIDEND', '1:1', 'bonus', null],
    ['BONUS', '1:1', 'bonus', undefined],
  ])('have the dividend beside another action: %s, %s: %s, %s', (type, note, kind, beside) => {
    const terms = readTerms(type, note)
    expect([terms?.kind, terms?.beside]).toEqual([kind, beside])
    expect(terms?.isReadable).toBe(beside !== null)
  })

  it.each([
    ['SCRIP RECOMMENDED', '1', true],
    ['OFFER FOR SALE', '', true],
    ['AGM', 'NA', false],
    ['Annual General Meeting', 'NA', false],
    ['QUARTERLY RESULT ANNOUNCEMENT', 'NA', false],
    ['BONUS NCRPS', '4:1', false],
    ['', '', false],
    ['SPLIT', 'soon', false],
  ])('of %s, %s are those of an unknown action: %s', (type, note, isUnknown) => {
    expect(isUnknownAction(type, note)).toBe(isUnknown)
  })

  it.each([
    'BONUS NCRPS',
    'Bonus debentures',
    'Bonus issue of preference shares',
    'RIGHTS OF NCDs',
    'DIVIDEND ON BOND',
  ])('are none for %s: no equity', (type) => {
    expect(readTerms(type, '4:1')).toBeUndefined()
    expect(readTerms('BONUS', type)).toBeUndefined()
  })

  it.each([
    ['BOARD MEETING', 'Bonus 1:1'],
    ['EGM', 'split 1:10'],
    ['QUARTERLY RESULT', 'interim dividend Rs 2'],
    ['BONUS', 'To consider bonus 1:1'],
  ])('are none for what is only planned: %s, %s', (type, note) => {
    expect(readTerms(type, note)).toBeUndefined()
  })

  it.each(['QUARTERLY RESULT ANNOUNCEMENT', 'AGM', '', 'Preferential issue'])('are none for %s', (type) => {
    expect(readTerms(type, 'NA')).toBeUndefined()
  })

  it.each([
    ['SPLIT', 'soon', false],
    ['BONUS', 'NA', false],
    ['CONSOLIDATION', '', false],
    ['DIVIDEND', 'to be decided', false],
    ['RIGHTS', 'NA', true],
    ['DEMERGER', 'NA', true],
    ['DIVIDEND', '10%', true],
  ])('of %s, %s: readable %s', (type, note, isReadable) => {
    expect(readTerms(type, note)?.isReadable).toBe(isReadable)
  })
})
