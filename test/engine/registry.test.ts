import { describe, expect, it } from 'vitest'
import { type Output, perRowOf, perStock } from '../../src/engine/define-stream.js'
import { checkRegistry, findSources } from '../../src/engine/registry.js'
import { streams } from '../../streams/registry.js'
import { tiny, tinyMaster, tinyOnce } from '../support/tiny.js'

const nothing = () => {
  throw new Error('nothing is asked here')
}
const following = (of: string) => perRowOf(of, nothing)
const offering = { offers: () => [] }

describe('the registry', () => {
  it('contains streams that can run together', () => {
    expect(() => checkRegistry(streams)).not.toThrow()
  })

  it.each([
    ['two streams of one name', [tinyOnce('bands'), tinyOnce('bands')], 'duplicate stream name: bands'],
    [
      'a stream that follows none there is',
      [tinyMaster, tiny('ranks', { work: following('ohlvc') })],
      'ranks depends on ohlvc, which does not exist',
    ],
    [
      'a per-stock stream without the master list',
      [tiny('news')],
      'news depends on master-data, which does not exist',
    ],
    [
      'a stream that follows one with no offers',
      [tinyOnce('bands'), tiny('ranks', { work: following('bands') })],
      'which offers nothing',
    ],
    [
      'a core stream that follows a later phase',
      [tinyOnce('bands', offering), tiny('ranks', { phase: 'core', work: following('bands') })],
      'ranks depends on bands, which runs later',
    ],
    [
      'a core stream that follows a later core stream',
      [
        tiny('ranks', { phase: 'core', work: following('bands') }),
        tinyOnce('bands', { ...offering, phase: 'core' }),
      ],
      'which runs later',
    ],
    [
      'two files of rows from one stream',
      [
        tinyOnce('bands', {
          outputs: [
            { shape: 'rows-in-one-file', file: 'a.json' },
            { shape: 'rows-in-one-file', file: 'b.json' },
          ],
        }),
      ],
      'only one may have the shape rows-in-one-file',
    ],
    [
      'one file of rows by the rows of another stream',
      [
        tinyOnce('bands', offering),
        tiny('ranks', { work: following('bands'), outputs: [{ shape: 'rows-in-one-file', file: 'a.json' }] }),
      ],
      'needs the stocks or parts of its own, not bands',
    ],
    [
      'a core stream that waits for a later phase',
      [tinyOnce('bands'), tinyOnce('ranks', { phase: 'core', after: ['bands'] })],
      'it waits for bands, which runs later',
    ],
    [
      'streams that wait for each other',
      [tinyOnce('bands', { after: ['ranks'] }), tinyOnce('ranks', { after: ['bands'] })],
      'it waits for bands, which waits for it',
    ],
    [
      'a misspelt field',
      [tinyOnce('bands', { worker: 3 } as object)],
      'invalid stream "bands": unknown field: "worker" (did you mean workers?)',
    ],
    [
      'a misspelt field of an output',
      [tinyOnce('bands', { outputs: [{ shape: 'array-per-item', file: 'a.json', tabels: [] } as Output] })],
      'unknown field: "tabels" (did you mean tables?)',
    ],
    [
      'an unknown direction',
      [
        tinyOnce('bands', {
          outputs: [
            {
              shape: 'rows-in-one-file',
              file: 'a.json',
              sortBy: { key: () => 1, direction: 'up' as 'ascending' },
            },
          ],
        }),
      ],
      'outputs.0.sortBy.direction',
    ],
    [
      'an unknown phase, before what follows from it',
      [tinyMaster, tiny('news', { phase: 'enrichmnt' as 'enrichment' })],
      'invalid stream "news": phase',
    ],
    ['a value that is no definition', [{} as ReturnType<typeof tiny>], 'streams[0] is not a stream'],
  ])('refuses %s', (_, refused, why) => {
    expect(() => checkRegistry(refused)).toThrow(why)
  })

  it('refuses a misspelt option of perStock, which would select all stocks', () => {
    expect(() => perStock(nothing, { were: () => true } as object)).toThrow(
      'unknown option: "were" (did you mean where?)',
    )
  })

  it('finds all sources of a stream, nearest first', () => {
    const chain = [tinyMaster, tiny('news', offering), tiny('ranks', { work: following('news') })]
    expect([...findSources(chain[2] ?? tinyMaster, chain)].map(({ name }) => name)).toEqual([
      'news',
      'master-data',
    ])
  })
})
