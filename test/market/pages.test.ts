import fc from 'fast-check'
import { catchError, type Observable, of, reduce } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { type Page, readPages } from '../../src/market/pages.js'
import { RefusedError, thresholds } from '../../src/market/refusal-policy.js'
import { formatPart } from '../../src/model/format.js'

const SIZE = 50

interface Reading {
  readonly rows: readonly number[]
  readonly pages: number
  readonly error?: unknown
}

/** Reads a list of numbers to its end, and counts the requests. */
const read = (answer: (page: number) => Page<number>, accept?: (what: string) => void): Reading => {
  let pages = 0
  let reading: Reading = { rows: [], pages: 0 }
  const request = (page: number): Observable<Page<number>> => {
    pages += 1
    expect(page).toBe(pages)
    return of(answer(page))
  }
  const failed = (error: unknown): Observable<readonly number[]> => {
    reading = { ...reading, error }
    return of([])
  }
  readPages({ request, size: SIZE, keyOf: String, accept })
    .pipe(
      catchError(failed),
      reduce((all: readonly number[], rows) => [...all, ...rows], []),
    )
    .subscribe((rows) => {
      reading = { ...reading, rows, pages }
    })
  return reading
}

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, place) => place)
const paged =
  (count: number, cap: number, totalOf: (page: readonly number[]) => number) =>
  (page: number): Page<number> => {
    const rows = numbers(count).slice((page - 1) * cap, page * cap)
    return { rows, total: totalOf(rows) }
  }

const counts = fc.integer({ min: 0, max: 1_200 })

describe('a list of many pages', () => {
  it('is read with as many requests as its total implies, one more if it fills page 1 exactly', () => {
    fc.assert(
      fc.property(counts, (count) => {
        const { rows, pages, error } = read(paged(count, SIZE, () => count))
        expect(error).toBeUndefined()
        expect(rows).toEqual(numbers(count))
        expect(pages).toBe(count === SIZE ? 2 : Math.max(1, Math.ceil(count / SIZE)))
      }),
      { numRuns: 300, examples: [[0], [1], [49], [50], [51], [99], [100], [101]] },
    )
  })

  it('is read to its end whatever its total, and however short its pages', () => {
    const totals = fc.oneof(fc.constant('whole'), fc.constant('none'), fc.integer({ min: 0, max: 1_200 }))
    fc.assert(
      fc.property(counts, fc.integer({ min: 10, max: SIZE }), totals, (count, cap, total) => {
        const { rows, error } = read(
          paged(count, cap, () =>
            total === 'whole' ? count : total === 'none' ? 0 : Math.min(Number(total), count),
          ),
        )
        // A total that equals the sum of full pages is trusted, unless it equals a full page 1.
        if (typeof total === 'number' && total > 0 && total % cap === 0 && !(total === SIZE && cap === SIZE))
          return
        expect(error).toBeUndefined()
        expect(rows).toEqual(numbers(count))
      }),
      { numRuns: 400, examples: [[51, 10, 50]] },
    )
  })

  it('is read to its end if the total is that of each page', () => {
    fc.assert(
      fc.property(counts, (count) => {
        expect(read(paged(count, SIZE, ({ length }) => length)).rows).toEqual(numbers(count))
      }),
    )
  })

  it('is refused if it has fewer rows than its total, after all its rows', () => {
    fc.assert(
      fc.property(counts, fc.integer({ min: 1, max: 500 }), (count, more) => {
        const { rows, error } = read(paged(count, SIZE, () => count + more))
        expect(rows).toEqual(numbers(count))
        expect(error).toBeInstanceOf(RefusedError)
        expect(error).toMatchObject({
          code: 'count',
          message: expect.stringContaining(formatPart(count, count + more, 'row')),
        })
      }),
    )
  })

  it('ends for any answers', () => {
    const page = fc.record({
      rows: fc.array(fc.nat(5)),
      total: fc.oneof(fc.nat(300), fc.constantFrom(0, -1, 1e9, Number.POSITIVE_INFINITY)),
    })
    fc.assert(
      fc.property(fc.array(page, { minLength: 1, maxLength: 6 }), fc.nat(60), (answers, fresh) => {
        const { pages } = read((at) => {
          const { rows = [], total = 0 } = answers[(at - 1) % answers.length] ?? {}
          return { rows: [...rows, ...numbers(fresh).map((one) => 1_000 * at + one)], total }
        })
        expect(pages).toBeLessThanOrEqual(Math.ceil(300 / SIZE) + thresholds.maxExtraPages)
      }),
      { numRuns: 30 },
    )
  })

  it.each([
    {
      what: 'states an impossible total',
      answer: () => ({ rows: [1], total: 1e9 }),
      pages: 1,
      says: 'is impossible',
    },
    {
      what: 'is empty although it says otherwise',
      answer: () => ({ rows: [], total: 3 }),
      pages: 1,
      says: '0 of 3 rows (page 1 is empty)',
    },
    {
      what: 'answers page 1 again, without a total',
      answer: () => ({ rows: numbers(50), total: 0 }),
      pages: 2,
      says: '50 rows, and perhaps',
    },
  ])('is refused if it $what', ({ answer, pages, says }) => {
    const reading = read(answer)
    expect(reading.pages).toBe(pages)
    expect(reading.error).toMatchObject({ code: 'count', message: expect.stringContaining(says) })
  })

  it('may end with a short page of duplicate rows only', () => {
    const twice = (page: number): Page<number> => ({ rows: page === 1 ? numbers(50) : [7], total: 51 })
    expect(read(twice)).toEqual({ rows: [...numbers(50), 7], pages: 2 })
  })

  it('passes with a report of what is missing, if that is accepted', () => {
    const warnings: string[] = []
    expect(
      read(
        paged(60, SIZE, () => 99),
        (what) => void warnings.push(what),
      ).error,
    ).toBeUndefined()
    expect(warnings).toEqual(['60 of 99 rows (page 3 is empty)'])
  })

  it('ends with the error of a request, and sends no more', () => {
    let requests = 0
    const failure = new Error('reset')
    const ended: unknown[] = []
    const request = (page: number): Observable<Page<number>> => {
      requests += 1
      if (page === 2) throw failure
      return of({ rows: numbers(50), total: 500 })
    }
    readPages({ request, size: SIZE, keyOf: String }).subscribe({
      error: (error: unknown) => void ended.push(error),
    })
    expect(ended).toEqual([failure])
    expect(requests).toBe(2)
  })
})
