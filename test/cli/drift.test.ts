import { of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { MemoryFiles } from '../../sinks/memory.js'
import { runProgram } from '../../src/cli/program.js'
import type { Drift } from '../../src/model/report.js'
import { createTestDependencies, createTestIo, reportsTo, runReport, summaryLines } from './support.js'

const place = {
  stream: 'market-news',
  endpoint: 'news',
  answers: 55,
  of: 55,
  records: 150,
  ofRecords: 150,
  example: 'TCS',
} as const
const fresh: Drift = { ...place, kind: 'new', field: 'data.latest_news[].language' }
const gone: Drift = {
  ...place,
  kind: 'gone',
  field: 'data.latest_news[].title',
  expected: 'text',
  required: true,
}
const odd: Drift = {
  ...place,
  kind: 'format',
  field: 'data.latest_news[].publish_date',
  expected: 'millis',
  answers: 1,
  rare: true,
}

const folderWith = (drift: readonly Drift[] | undefined): MemoryFiles =>
  new Map([
    ['.scripstream/report.json', { text: JSON.stringify(runReport(drift === undefined ? {} : { drift })) }],
  ])

const runDrift = async (files: MemoryFiles, ...args: readonly string[]) => {
  const io = createTestIo()
  const dependencies = createTestDependencies(undefined, { storage: reportsTo(() => of(undefined), files) })
  const code = await runProgram(['drift', ...args], io, dependencies)
  return { code, text: io.out.text(), err: io.err.text() }
}

describe('the command drift', () => {
  it('ends with 0 where the answers were as expected', async () => {
    expect(await runDrift(folderWith(undefined))).toEqual({
      code: 0,
      text: 'The answers of the last run were as expected.\n',
      err: '',
    })
    expect((await runDrift(folderWith([odd]))).code).toBe(0)
  })

  it('shows what has changed, and ends with 3', async () => {
    const { code, text } = await runDrift(folderWith([fresh, gone, odd]))
    expect(code).toBe(3)
    expect(text.split('\n')).toEqual([
      'Changed, and not accepted',
      '  market-news: news: data.latest_news[].language is new in 55 of 55 answers (first with TCS)',
      '  market-news: news: data.latest_news[].title is gone from 55 of 55 answers (first with TCS); the field is required',
      'Seen in a few answers only',
      '  market-news: news: data.latest_news[].publish_date has another format than millis in 1 of 55 answers (first with TCS)',
      'To accept these changes: scripstream drift accept. Later runs then ignore them.',
      '',
    ])
    expect(JSON.parse((await runDrift(folderWith([fresh]), '--json')).text)).toEqual([fresh])
  })

  it('accepts changes on request, and then ignores them', async () => {
    const files = folderWith([fresh, gone])
    expect(await runDrift(files, 'accept')).toMatchObject({
      code: 0,
      text: expect.stringMatching(/^Accepted: 2 changes .*\n.*--accept fields/s),
    })
    expect(JSON.parse(files.get('.scripstream/drift-accepted.json')?.text ?? '')).toEqual([
      { stream: 'market-news', endpoint: 'news', kind: 'new', field: fresh.field },
      { stream: 'market-news', endpoint: 'news', kind: 'gone', field: gone.field },
    ])
    expect(await runDrift(files)).toMatchObject({ code: 0, text: expect.stringMatching(/^Accepted\n/) })
    expect((await runDrift(files, 'accept')).text).toMatch(/^Nothing to accept/)
    files.set(
      '.scripstream/report.json',
      folderWith([{ ...fresh, field: 'other' }]).get('.scripstream/report.json') ?? { text: '' },
    )
    expect((await runDrift(files)).code).toBe(3)
    await runDrift(files, 'accept')
    expect(JSON.parse(files.get('.scripstream/drift-accepted.json')?.text ?? '')).toHaveLength(3)
  })

  it('ends with 2 without a run, or with an unknown action', async () => {
    expect(await runDrift(new Map())).toMatchObject({
      code: 2,
      err: expect.stringContaining('no run has finished'),
    })
    expect((await runDrift(folderWith([]), 'accepted')).code).toBe(2)
  })
})

it('the summary of a run with all files but changed answers says so, and what to do', () => {
  const changes = { out: '/srv/m', args: ['run', '--only', 'x', '--out', '/srv/m'] }
  const lines = summaryLines(
    runReport({ outcome: 'partial', drift: [fresh, { ...gone, accepted: true }] }),
    changes,
  )
  expect(lines.at(-1)).toMatch(/^Partial: all files are written, but answers have changed/)
  expect(lines.join('\n')).toContain('language is new')
  expect(lines.join('\n')).not.toContain('title is gone')
  expect(lines.slice(-5, -2)).toEqual([
    'Next',
    '  See what has changed; "scripstream drift accept" accepts it:',
    '    scripstream drift --out /srv/m',
  ])
})
