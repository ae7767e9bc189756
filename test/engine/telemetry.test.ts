import { lastValueFrom, mergeMap, type Observable, of, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { createCollector } from '../../src/collector.js'
import { MASTER } from '../../src/engine/define-stream.js'
import type { Follower, LiveRun, Telemetry } from '../../src/engine/event-bus.js'
import type { HttpReply } from '../../src/http/transport.js'
import type { RunReport } from '../../src/model/report.js'
import { temporaryFolder } from '../support/folders.js'
import { itWithMarbles } from '../support/marbles.js'
import { masterList, reset, row, status, tiny, tinyCollector, tinyMaster } from '../support/tiny.js'

const silent: Follower = { event: () => undefined, request: () => undefined }
const throwing = (): never => {
  throw new Error('the exporter is full')
}

describe('telemetry', () => {
  for (const [when, telemetry] of [
    ['when a run starts', throwing],
    ['at an event', () => ({ ...silent, event: throwing })],
    ['at a request', () => ({ ...silent, request: throwing })],
    ['at the end', () => ({ ...silent, over: throwing })],
  ] as const)
    itWithMarbles(
      `that throws ${when} ends no run, changes no outcome, and does not keep others from their calls`,
      (m) => {
        const calls: string[] = []
        const note = (name: string) => () => void calls.push(name)
        const other: Telemetry = () => ({
          event: note('event'),
          request: note('request'),
          over: note('over'),
        })
        const collector = tinyCollector(m, {
          streams: [tiny('news')],
          stocks: ['A', 'B'],
          telemetry: [telemetry, other],
        })
        const reports: RunReport[] = []
        collector.run().subscribe((report) => reports.push(report))
        m.flush()
        expect(reports.map(({ outcome }) => outcome)).toEqual(['complete'])
        const text = 'the telemetry of this run threw an error: the exporter is full'
        // The end is after the report.
        expect(reports[0]?.notes).toEqual(when === 'at the end' ? undefined : [text])
        const count = (name: string): number => calls.filter((call) => call === name).length
        expect([count('request'), count('over')]).toEqual([3, 1])
        expect(count('event')).toBeGreaterThan(10)
      },
    )

  itWithMarbles(
    'gets what ended a run without a report, and nothing after an end with one or without an error',
    (m) => {
      const ends: unknown[] = []
      const telemetry: Telemetry = () => ({ ...silent, over: (error) => void ends.push(error) })
      const bug = new Error('a bug')
      const broken = tiny('news', {
        work: { of: 'master-data', parts: [], each: () => throwError(() => bug) },
      })
      tinyCollector(m, { streams: [broken], telemetry })
        .run()
        .subscribe({ error: () => undefined })
      tinyCollector(m, { streams: [tiny('news')], telemetry })
        .run()
        .subscribe()
      tinyCollector(m, { streams: [tiny('news')], telemetry, answers: () => m.cold('-') })
        .run()
        .subscribe()
        .unsubscribe()
      m.flush()
      expect(ends).toEqual([
        expect.objectContaining({ message: expect.stringContaining('a bug') }),
        undefined,
        undefined,
      ])
    },
  )

  itWithMarbles('can read the limiters of its run while it is running', (m) => {
    const runs: LiveRun[] = []
    const telemetry: Telemetry = (run) => {
      runs.push(run)
      return silent
    }
    const collector = tinyCollector(m, {
      streams: [tiny('news')],
      telemetry,
      answers: () => m.cold('5s (r|)', { r: row }),
    })
    const read = (): readonly string[] =>
      runs.flatMap(({ limiters }) =>
        limiters().map(({ hosts, endpoint, inFlight }) => `${hosts} ${endpoint} ${inFlight}`),
      )
    expect(read()).toEqual([])
    collector.run().subscribe()
    m.scheduler.schedule(
      () => expect(read()).toEqual(['static undefined 2', 'static master-data 0', 'static news 2']),
      1_000,
    )
    m.flush()
    expect(runs).toHaveLength(1)
  })

  for (const [what, run] of [
    ['throws', throwing],
    ['does not send', () => undefined],
    ['sends twice', (send: () => void) => [send(), send()]],
  ] as const)
    itWithMarbles(
      `that ${what} where it should send a request once does not keep it from being sent once, within the others`,
      (m) => {
        const log: string[] = []
        const faulty: Telemetry = () => ({ ...silent, begin: () => ({ run, end: () => undefined }) })
        const good: Telemetry = () => ({
          ...silent,
          begin: ({ stream, item, attempt }) => ({
            run: (send) => {
              log.push(`begin ${stream} ${item} ${attempt}`)
              send()
              log.push('sent')
            },
            end: ({ failure = 'answered' }) => void log.push(`end ${failure}`),
          }),
        })
        const answers = (): Observable<HttpReply> =>
          m
            .cold('1s (r|)', { r: log.includes('end reset') ? row : undefined })
            .pipe(mergeMap((reply) => (reply ? of(reply) : reset())))
        const collector = tinyCollector(m, {
          streams: [tiny('news')],
          stocks: ['A'],
          telemetry: [faulty, good],
          answers,
        })
        collector.run().subscribe()
        m.flush()
        expect(collector.requested.map((call) => call.replace(/^\d+ /, ''))).toEqual([
          'master-data all',
          'news A',
          'news A',
        ])
        expect(log).toEqual([
          'begin master-data all 0',
          'end answered',
          'sent',
          'begin news A 0',
          'sent',
          'end reset',
          'begin news A 1',
          'sent',
          'end answered',
        ])
      },
    )

  it('follows a run that does what is left of an earlier one as one run, with its limiters', async () => {
    const runs: { readonly types: string[]; readonly limiters: Set<string> }[] = []
    const telemetry: Telemetry = ({ limiters }) => {
      const seen = { types: [] as string[], limiters: new Set<string>() }
      runs.push(seen)
      return {
        event: ({ type }) => void seen.types.push(type),
        request: () => limiters().map(({ endpoint = '' }) => seen.limiters.add(endpoint)),
        over: () => void seen.types.push('over'),
      }
    }
    const asOf = Date.parse('2026-02-12T20:00:00+05:30')
    let answered = 0
    const collector = createCollector({
      settings: { urls: { static: 'http://provider.test' } },
      streams: [tinyMaster, tiny('news')],
      storage: folder(temporaryFolder()),
      transport: ({ url }) =>
        of(url.endsWith('/news') ? (answered++ === 0 ? status(404) : row) : masterList('A', 'B', 'C')),
      telemetry,
      clock: () => asOf + 60_000,
    })
    expect((await lastValueFrom(collector.run({ asOf }))).outcome).toBe('partial')
    expect((await lastValueFrom(collector.run({ asOf }))).outcome).toBe('complete')
    expect(answered).toBe(4)
    expect(runs).toHaveLength(2)
    expect(runs[1]?.types.filter((type) => /^(run-|over)/.test(type))).toEqual([
      'run-started',
      'run-finished',
      'over',
    ])
    expect([...(runs[1]?.limiters ?? [])]).toEqual(['', MASTER, 'news'])
  })
})
