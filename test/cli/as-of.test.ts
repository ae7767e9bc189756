import { EMPTY, type Observable, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { describeAsOfSession } from '../../src/cli/options.js'
import { runProgram } from '../../src/cli/program.js'
import type { RunEvent } from '../../src/model/event.js'
import type { AsOfSession } from '../../src/model/report.js'
import { toInstant } from '../../src/model/trading-day.js'
import { streams } from '../../streams/registry.js'
import { createTestDependencies, createTestIo } from './support.js'

const NOW = toInstant('2026-02-12', '20:00')

const type = async (command: string, event$: Observable<RunEvent> = EMPTY, columns?: number) => {
  const asked: unknown[] = []
  const note = <T>(options: unknown, answer$: T): T => {
    asked.push(options)
    return answer$
  }
  const collector = {
    events: (options: unknown) => note(options, event$),
    run: () => EMPTY,
    stream: () => note('stream', EMPTY),
  }
  const io = createTestIo({ now: NOW, ...(columns === undefined ? {} : { err: { columns } }) })
  const code = await runProgram(
    command.split(' '),
    io,
    createTestDependencies(event$, { streams, createCollector: () => collector as never }),
  )
  return { code, asked, err: io.err.text(), out: io.out.text() }
}

describe('--as-of', () => {
  it.each(['run', 'run --dry-run', 'stream market-news', 'doctor'])(
    'of %s is refused with 2 if it is later than the clock',
    async (command) => {
      for (const text of ['2027-02-12', '2026-02-13', '2026-02-12T20:00:01+05:30']) {
        const { code, err, out, asked } = await type(`${command} --as-of ${text}`)
        expect({ code, out, asked }).toEqual({ code: 2, out: '', asked: [] })
        expect(err).toBe(
          `error: --as-of: ${text} is later than the clock of this machine, 2026-02-12 20:00 IST; name today or an earlier day, or leave out --as-of\n`,
        )
      }
    },
  )

  it.each([
    'run --simulate',
    'stream market-news --simulate',
    'doctor --simulate',
    'run --dry-run --simulate',
  ])('of %s is refused for simulated data, too', async (command) =>
    expect((await type(`${command} --as-of 2026-02-13`)).code).toBe(2),
  )

  it.each([
    ['2026-02-12', '2026-02-12T18:29:59Z'],
    ['2026-02-12T20:00:00+05:30', '2026-02-12T14:30:00Z'],
    ['2025-02-12', '2025-02-12T18:29:59Z'],
  ])('may be today, now or earlier: %s', async (text, instant) => {
    const { asked } = await type(`run --as-of ${text}`)
    expect(asked).toMatchObject([{ asOf: Date.parse(instant) }])
  })
})

const note: AsOfSession = {
  session: '2026-02-06',
  due: '2026-02-12',
  recorded: 'following',
  following: ['bulk-block-deals', 'all-ohlcv'],
  others: ['master-data', 'market-news', 'circuit-stocks'],
}

describe('a run as of an earlier session', () => {
  it.each<[string, Partial<AsOfSession>, string]>([
    [
      'what is recorded',
      {},
      'As of 2026-02-06: bulk-block-deals, all-ohlcv are of that session; the outputs of the other 3 streams are of today (session 2026-02-12) and are not recorded (--record-late records them, marked as late).',
    ],
    [
      'that everything is recorded',
      { recorded: 'all', following: ['all-ohlcv'], others: ['master-data'] },
      'As of 2026-02-06: all-ohlcv is of that session; the outputs of master-data are of today (session 2026-02-12) and are recorded, marked as late.',
    ],
    [
      'nothing about a history that is switched off',
      { recorded: 'none', following: [] },
      'As of 2026-02-06: no output is of that session; the outputs of all 3 streams are of today (session 2026-02-12).',
    ],
  ])('says in one line %s', (_, changes, line) =>
    expect(describeAsOfSession({ ...note, ...changes })).toBe(line),
  )

  const started: RunEvent = {
    type: 'run-started',
    at: NOW,
    run: 'r1',
    asOf: toInstant('2026-02-06'),
    asOfSession: note,
    streams: [],
  }

  it('says it on stderr before anything else, in one line of a log and within the width of a terminal', async () => {
    expect((await type('run --as-of 2026-02-06', of(started))).err.split('\n')[0]).toBe(
      describeAsOfSession(note),
    )
    const lines = (await type('run --as-of 2026-02-06', of(started), 80)).err.split('\n').slice(0, 3)
    expect(lines.join(' ')).toContain('As of 2026-02-06: bulk-block-deals, all-ohlcv are of that session;')
    expect(lines.every((line) => line.length <= 80)).toBe(true)
  })

  it('says nothing with --quiet, or as of today', async () => {
    expect((await type('run --quiet --as-of 2026-02-06', of(started))).err).not.toContain('As of')
    const { asOfSession: _, ...usual } = started
    expect((await type('run', of<RunEvent>(usual))).err).not.toContain('As of')
  })
})
