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
  /** How long it takes, milliseconds. Default: 1. */
  readonly takes?: (item: string) => number
  /** What it answers if the request is sent again; nothing for a failure. Default: the same. */
  readonly again?: ((item: string) => string | undefined) | undefined
  readonly onAgain?: (item: string) => void
}

/** The items that are refused. */
const findRefused = ({
  items = ITEMS,
  workers = 15,
  isList,
  asks = (item) => item,
  answer,
  takes = () => 1,
  again = answer,
  onAgain = () => undefined,
}: Trial): readonly string[] => {
  let refused: readonly string[] = ['it never ended']
  new TestScheduler(() => undefined).run(({ cold, flush }) => {
    const { pass } = createEqualAnswers(() => true)
    const refuse = (why: string): never => {
      throw new Error(why)
    }
    const compare = (item: string, text: string) =>
      toComparedAnswer(
        { status: 200, body: Buffer.from(text) },
        text === '[]' ? [] : [text],
        { url: asks(item) },
        { item, isList },
      )
    const sendAgain = (item: string) => () => {
      onAgain(item)
      const text = again(item)
      return text === undefined ? cold<never>('-#') : cold('-(a|)', { a: compare(item, text) })
    }
    const refused$ = from(items).pipe(
      mergeMap((item) => {
        const compared = compare(item, answer(item))
        return cold(`${'-'.repeat(takes(item))}(a|)`).pipe(
          pass(() => compared, { sendAgain: sendAgain(item), refuse }),
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
    expect(findRefused({ answer: () => 'Results are out' })).toEqual(ITEMS)
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

  describe('that are short or empty', () => {
    const cached = ['[]', 'Results are out']
    /** The first requests fill the cache. */
    const fill = (text: string, first: number) => (item: string) =>
      rankOf(item) < first && rankOf(item) !== 2 ? item : text

    it('are refused if an earlier request now has them, too', () => {
      for (const text of cached)
        for (const workers of [3, 5, 15])
          expect(findRefused({ workers, answer: fill(text, workers), again: () => text })).toEqual(
            ITEMS.slice(workers),
          )
    })

    it('pass if an earlier request has its own answer again, and two are sent', () => {
      for (const text of cached)
        for (const workers of [3, 5, 15]) {
          const sent: string[] = []
          const onAgain = (item: string): void => void sent.push(item)
          expect(findRefused({ workers, answer: fill(text, workers), onAgain })).toEqual([])
          expect(sent).toHaveLength(2)
        }
    })

    it('are refused if what the cache has changes while it is filled', () => {
      const answer = (item: string): string => (rankOf(item) < 20 ? 'S0' : 'Results are out')
      for (const again of ['S0', 'Results are out'])
        expect(
          findRefused({
            answer: (item) => (rankOf(item) < 15 ? fill('[]', 15)(item) : answer(item)),
            again: () => again,
          }),
        ).toEqual(expect.arrayContaining(ITEMS.slice(21)))
    })

    it('are refused also if the first of them comes before that which fills the cache', () => {
      const answer = (item: string): string => (item === 'S0' ? item : 'S2')
      const takes = (item: string): number => (item === 'S1' ? 1 : 3)
      expect(findRefused({ workers: 3, answer, takes, again: () => 'S2' })).toEqual(ITEMS.slice(1))
    })

    it('are refused also if only the second comes while nothing else has been answered', () => {
      const items = ITEMS.slice(0, 4)
      const answer = (item: string): string => (rankOf(item) < 2 ? 'S0' : item)
      const takes = (item: string): number => (rankOf(item) < 2 ? 1 : 3)
      expect(findRefused({ items, answer, takes, again: () => 'S0' })).toEqual(['S0', 'S1'])
    })

    it('pass, and end, if the others come later', () => {
      const answer = (item: string): string => (rankOf(item) === 14 || rankOf(item) === 15 ? item : '[]')
      for (const workers of [1, 5, 15]) expect(findRefused({ workers, answer })).toEqual([])
    })

    it('pass without another request if they are few', () => {
      const sent: string[] = []
      const answer = (item: string): string => (rankOf(item) % 12 === 5 ? '[]' : item)
      expect(findRefused({ answer, onAgain: (item) => void sent.push(item) })).toEqual([])
      expect(sent).toEqual([])
    })

    it('pass if no answer shows whose they are', () => {
      expect(findRefused({ answer: fill('[]', 15), again: () => undefined })).toEqual([])
    })
  })

  it('are refused from the second item on also with one worker', () => {
    const answer = (item: string): string => `${LONG}${rankOf(item) < 2 ? item : 'S1'}`
    expect(findRefused({ workers: 1, answer, again: () => answer('S1') })).toEqual(ITEMS.slice(2))
  })

  it('are refused for the second of two lists', () => {
    const items = ['S1', 'S2', 'S3']
    const answer = (item: string): string => `${LONG}${item === 'S3' ? 'S1' : item}`
    expect(findRefused({ items, workers: 2, isList: true, answer })).toEqual(['S3'])
  })
})
