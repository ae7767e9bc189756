import { test } from 'vitest'
import { createTally } from '../../src/model/tally.js'
import { createProgress } from '../../src/cli/progress.js'
import { glyphsFor, paintLine } from '../../src/cli/terminal.js'
import { summaryOf } from '../../src/cli/summary.js'
import { streams } from '../../streams/index.js'
import { advance, createShell } from './support.js'
import { listLines } from '../../src/cli/list.js'
import { graphOf } from '../../src/cli/graph.js'

test('x', () => {
  for (const columns of [60, 80, 120, 200]) {
    const shell = createShell({ err: { columns } })
    const tally = createTally()
    const progress = createProgress('bars', { tally, stream: shell.stderr, glyphs: glyphsFor({}), scheduler: shell.scheduler })
    const tell = (e: any) => { tally.record(e); progress.tell(e) }
    tell({ type: 'run-started', at: 0, run: 'r', asOf: 0, streams: streams.map((s) => ({ name: s.name, state: s.name==='all-ohlcv' ? 'disabled' : 'waiting' })) })
    tell({ type: 'master-read', stocks: 2775 })
    for (const [i, s] of streams.entries()) {
      if (i > 10) break
      tell({ type: 'stream-started', stream: s.name, at: 1000 })
      tell({ type: 'items-known', stream: s.name, total: s.work.of ? 2775 : 2 })
      for (let n = 0; n < (s.work.of ? 100 * i : 1); n++) { tell({ type: 'requested', stream: s.name }); if (n % 50 === 3) tell({ type: 'rate-limited', stream: s.name });
        tell({ type: 'settled', stream: s.name, item: 'S' + n, status: n % 70 === 8 ? 'rate_limit' : 'success', reason: '429: the provider limits the rate' }) }
      if (i < 4) tell({ type: 'stream-finished', stream: s.name, at: 3000, outcome: i === 2 ? 'failed' : 'success', files: 3, bytes: 12345678, ...(i === 2 ? { error: 'nothing answered: tier 1 http_503, tier 2 http_503, tier 3 html: a page instead of a list that is so long' } : {}) })
    }
    advance(shell.scheduler, 12300)
    console.log(shell.err.screen().join('\n'))
    progress.end()
    const report = tally.report(12300)
    const files = new Map(streams.map(({ name, outputs }) => [name, outputs.map(({ file }) => file)]))
    for (const end of [undefined, { outcome: 'interrupted' as const }, {outcome: 'failed' as const, error: 'master-data: http_500: the provider answered 500'}]) 
      console.log(summaryOf(tally.report(12300, end), { columns, files, out: './data', args: ['run', '--skip', 'x', '--out', "a b"], isKept: true, isSimulated: true }).map((l) => paintLine(l, 1e9, shell.stdout)).join('\n'))
  }
  console.log(listLines(streams, 80).map((l) => l.map(([t]) => t).join('')).join('\n'))
  console.log(graphOf(streams))
})
