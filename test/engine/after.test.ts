import { concat, map, timer } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { once } from '../../src/engine/define-stream.js'
import type { RunOptions } from '../../src/engine/run-options.js'
import { createResult } from '../../src/model/outcome.js'
import { marbles } from '../support/marbles.js'
import { createCall, row, status, tinyCollector, tinyOnce } from '../support/tiny.js'

const following = tinyOnce('following', {
  after: ['news'],
  work: once(({ ask, after }) =>
    concat(
      after('news'),
      ask(createCall('following'), { of: 'all' }).pipe(map((rows) => createResult(rows))),
    ),
  ),
})

const cases: readonly {
  readonly title: string
  readonly reply: typeof row
  readonly options?: RunOptions
  readonly at: number
}[] = [
  { title: 'waits until the other stream of the run has ended', reply: row, at: 5 },
  { title: 'goes on where the other stream failed', reply: status(404), at: 5 },
  {
    title: 'does not wait for a stream that the run leaves out',
    reply: row,
    options: { skip: ['news'] },
    at: 0,
  },
]

describe('work that comes after another stream', () => {
  for (const { title, reply, options, at } of cases)
    it(
      title,
      marbles((m) => {
        const answers = (call: string) =>
          timer(call.startsWith('news') ? 5 : 1).pipe(map(() => (call.startsWith('news') ? reply : row)))
        const { run, requested: asked } = tinyCollector(m, {
          streams: [tinyOnce('news'), following],
          answers,
        })
        const outcomes: unknown[] = []
        run(options).subscribe(({ scripts }) => outcomes.push(scripts.following?.outcome))
        m.flush()
        expect(asked.filter((call) => call.includes('following'))).toEqual([`${at} following all`])
        expect(outcomes).toEqual(['success'])
      }),
    )
})
