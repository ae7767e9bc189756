import { describe, expect, it } from 'vitest'
import { createDriftWatch } from '../../src/http/drift.js'
import type { Drift } from '../../src/model/report.js'

const fresh = (answers: number, of: number, field = 'source'): Drift => ({
  stream: 'market-news',
  endpoint: 'news',
  kind: 'new',
  field,
  answers,
  of,
  records: answers,
  ofRecords: of,
  example: `A${answers}`,
})

describe('drift from other processes', () => {
  it('adds up the same drift of several processes', () => {
    const drift = createDriftWatch()
    drift.add('a market-news', [fresh(3, 10)])
    drift.add('b market-news', [fresh(4, 20)])
    expect(drift.listDrifts()).toEqual([{ ...fresh(3, 10), answers: 7, of: 30, records: 7, ofRecords: 30 }])
  })

  it('uses only the latest report of each process', () => {
    const drift = createDriftWatch()
    drift.add('a market-news', [fresh(3, 10)])
    drift.add('b market-news', [fresh(4, 20)])
    drift.add('a market-news', [fresh(5, 11)])
    expect(drift.listDrifts()).toMatchObject([{ answers: 9, of: 31 }])
    drift.add('a market-news', [fresh(2, 9)])
    expect(drift.listDrifts(), 'an older report that arrives later').toMatchObject([{ answers: 9, of: 31 }])
  })

  it('distinguishes field and kind, and sorts by frequency', () => {
    const drift = createDriftWatch()
    drift.add('a market-news', [
      fresh(1, 10),
      { ...fresh(2, 10), kind: 'type', expected: 'text', seen: 'number' },
    ])
    drift.add('b market-news', [
      fresh(3, 10, 'link'),
      { ...fresh(2, 10), kind: 'type', expected: 'text', seen: 'list' },
    ])
    expect(drift.listDrifts().map(({ kind, field, seen, answers }) => [kind, field, seen, answers])).toEqual([
      ['new', 'link', undefined, 3],
      ['type', 'source', 'number', 2],
      ['type', 'source', 'list', 2],
      ['new', 'source', undefined, 1],
    ])
  })
})
