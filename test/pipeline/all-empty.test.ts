import { map, of } from 'rxjs'
import { describe } from 'vitest'
import { itWithMarbles } from '../support/marbles.js'
import { ok, tiny, tinyCollector } from '../support/tiny.js'

const symbols = (count: number): readonly string[] => Array.from({ length: count }, (_, place) => `S${place}`)

describe('a stream over a list whose items are all empty', () => {
  for (const { count, outcome, error } of [
    { count: 20, outcome: 'failed', error: 'all 20 items were empty' },
    { count: 19, outcome: 'success', error: undefined },
  ])
    itWithMarbles(`is ${outcome} with ${count} items`, (m) => {
      const collector = tinyCollector(m, { stocks: symbols(count), streams: [tiny('news')], answers: () => of(ok()) })
      const end$ = collector.run().pipe(map(({ scripts: { news } }) => [news?.outcome, news?.error, news?.items.empty]))

      m.expect(end$).toBeObservable('(r|)', { r: [outcome, error, count] })
    })

  itWithMarbles('does not fail if one item has rows', (m) => {
    const answers = (call: string) => of(call === 'news S7' ? ok({ a: 1 }) : ok())
    const collector = tinyCollector(m, { stocks: symbols(30), streams: [tiny('news')], answers })

    m.expect(collector.run().pipe(map(({ outcome }) => outcome))).toBeObservable('(r|)', { r: 'complete' })
  })
})
