import { catchError, from, map, mergeMap, of, toArray } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { describe, expect, it } from 'vitest'
import { createEqualAnswers, toComparedAnswer } from '../../src/http/equal-answers.js'

const LONG = 'a record of a stock, '.repeat(100)
const ITEMS = Array.from({ length: 40 }, (_, rank) => `S${rank}`)

interface Trial {
  readonly items?: readonly string[]
  readonly workers?: number
  readonly isList?: boolean
  /** The address of the request for an item. Default: its own. */
  readonly asks?: (item: string) => string
  /** What the provider, or a cache before it, answers. */
  readonly answer: (item: string) => string
}

/** The items that are refused, if each answer takes 1 ms. */
const findRefused = ({
  items = ITEMS,
  workers = 15,
  isList,
  asks = (item) => item,
  answer,
}: Trial): readonly string[] => {
  let refused: readonly string[] = []
  new TestScheduler(() => undefined).run(({ cold, flush }) => {
    const pass = createEqualAnswers((why) => {
      throw new Error(why)
    })
    const refused$ = from(items).pipe(
      mergeMap((item) => {
        const rows = answer(item) === '[]' ? [] : [answer(item)]
        const reply = { status: 200, body: Buffer.from(answer(item)) }
        const compared = toComparedAnswer(reply, rows, { url: asks(item) }, { item, isList })
        return cold('-(a|)').pipe(
          pass(() => compared),
          map(() => ''),
          catchError(() => of(item)),
        )
      }, workers),
      toArray(),
    )
    refused$.subscribe((all) => {
      refused = all.filter((item) => item !== '').sort((one, other) => rankOf(one) - rankOf(other))
    })
    flush()
  })
  return refused
}

const rankOf = (item: string): number => Number(item.slice(1))

describe('answers to different items that are the same bytes', () => {
  it('are all refused if a cache was filled before the run', () => {
    for (const workers of [3, 15, 50]) expect(findRefused({ workers, answer: () => LONG })).toEqual(ITEMS)
    // An answer waits for those that are under way: of one or two, it cannot be told in time.
    for (const workers of [1, 2])
      expect(findRefused({ workers, answer: () => LONG })).toEqual(expect.arrayContaining(ITEMS.slice(2)))
  })

  it('are refused from the second item on if the first fills the cache', () => {
    const answer = (item: string): string => `${LONG}${rankOf(item) < 15 ? item : 'S3'}`
    expect(findRefused({ answer })).toEqual(ITEMS.slice(15))
  })

  it('pass if only two of many items have them', () => {
    const answer = (item: string): string => `${LONG}${item === 'S30' ? 'S7' : item}`
    expect(findRefused({ answer })).toEqual([])
    expect(findRefused({ answer: (item) => `${LONG}${item === 'S39' ? 'S38' : item}` })).toEqual([])
  })

  it('are refused for a pair, too, once they are found', () => {
    const answer = (item: string): string => {
      const rank = rankOf(item)
      if (rank === 16) return `${LONG}S1`
      return `${LONG}${rank < 18 ? item : 'S17'}`
    }
    expect(findRefused({ answer })).toEqual(['S16', ...ITEMS.slice(18)])
  })

  it('pass if only two items are requested', () => {
    expect(findRefused({ items: ['S1', 'S2'], answer: () => LONG })).toEqual([])
    expect(findRefused({ items: ['S1', 'S2', 'S3'], answer: () => LONG })).toEqual(['S1', 'S2', 'S3'])
  })

  it('pass if they are short, as long as there are others', () => {
    expect(findRefused({ answer: (item) => (rankOf(item) % 2 ? 'Results are out' : item) })).toEqual([])
    expect(findRefused({ answer: (item) => (rankOf(item) === 30 ? item : 'Results are out') })).not.toContain(
      'S39',
    )
    // The first two are stored before there is a reason to wait.
    expect(findRefused({ answer: () => 'Results are out' })).toEqual(ITEMS.slice(2))
  })

  it('pass if the same was asked for', () => {
    const asks = (item: string): string => `/sector/${rankOf(item) % 4}`
    expect(findRefused({ asks, answer: (item) => LONG + asks(item) })).toEqual([])
  })

  it('are the same in each byte', () => {
    const answer = (item: string): string => `${LONG.slice(0, 700)}${item.padEnd(3)}${LONG}`
    expect(findRefused({ answer })).toEqual([])
  })

  it('end with the answers that differ again', () => {
    const answer = (item: string): string => `${LONG}${rankOf(item) < 10 ? 'S0' : rankOf(item) >> 1}`
    expect(findRefused({ workers: 5, answer })).not.toContain('S39')
  })

  it('pass without records', () => {
    expect(findRefused({ answer: () => '[]' })).toEqual([])
  })

  it('are refused for the second of two lists', () => {
    const items = ['S1', 'S2', 'S3']
    const answer = (item: string): string => `${LONG}${item === 'S3' ? 'S1' : item}`
    expect(findRefused({ items, workers: 2, isList: true, answer })).toEqual(['S3'])
  })
})
