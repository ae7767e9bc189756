import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { from, NEVER, Observable, of, ReplaySubject } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runProgram } from '../../src/cli/program.js'
import type { RunEvent } from '../../src/model/event.js'
import { Settings } from '../../src/model/settings.js'
import { addDays, lastWeekday } from '../../src/model/trading-day.js'
import type { FolderState } from '../../src/web/api/state.js'
import { temporaryFolder } from '../support/folders.js'
import { PAGE_FOLDER } from '../support/page-server.js'
import { parseEvents, started } from '../web/support.js'
import { createTestDependencies, createTestIo, playEvents, runReport, type TestIo } from './support.js'

const type = (
  args: readonly string[],
  io: TestIo,
  event$: Observable<RunEvent> = NEVER,
  settings: object = {},
) =>
  runProgram(
    args,
    io,
    createTestDependencies(NEVER, {
      pageFolder: PAGE_FOLDER,
      loadSettings: ({ flags }) => Settings.parse({ ...flags, ...settings }),
      createCollector: ({ telemetry }) => ({
        events: () => playEvents(event$, telemetry),
        run: () => NEVER,
        stream: () => NEVER,
      }),
    }),
  )

const events: readonly RunEvent[] = [started(['market-news']), { type: 'run-finished', report: runReport() }]

/** Resolves to the address that a command has printed. */
const findAddress = async (read: () => string): Promise<string> => {
  for (;;) {
    const address = /http:\/\/127\.0\.0\.1:\d+/.exec(read())?.[0]
    if (address !== undefined) return address
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const takePort = async (): Promise<number> => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void other.close())
  return (other.address() as AddressInfo).port
}

describe('scripstream serve', () => {
  it('prints its address, and ends at once with Ctrl+C, also while somebody reads', async () => {
    const io = createTestIo()
    const out = temporaryFolder()
    const code = type(['serve', '--port', '0', '--out', out], io)
    const address = await findAddress(io.out.text)
    expect(io.out.text()).toBe(`Serving ${out} at ${address}; press Ctrl+C to stop.\n`)
    const reader = (await fetch(`${address}/api/live`)).body?.getReader()
    await reader?.read()
    io.signal$.next('SIGINT')
    expect(await code).toBe(130)
    await expect(fetch(address)).rejects.toThrow()
    await reader?.cancel().catch(() => undefined)
  })

  it('knows the holidays of the settings, and ends with 2 if their file is damaged', async () => {
    const [out, io] = [temporaryFolder(), createTestIo()]
    const holidays = join(out, 'holidays.txt')
    mkdirSync(join(out, '.scripstream'))
    // Every weekday since the run is a holiday, whenever this test is run.
    writeFileSync(join(out, '.scripstream/report.json'), JSON.stringify(runReport()))
    const days = Array.from({ length: 20_000 }, (_, index) => addDays('2026-02-13', index))
    writeFileSync(holidays, days.filter((day) => lastWeekday(day) === day).join('\n'))
    const code = type(['serve', '--port', '0', '--out', out], io, NEVER, { holidays })
    const state = (await (await fetch(`${await findAddress(io.out.text)}/api/state`)).json()) as FolderState
    expect(state.answer.word).toBe('Complete and up to date')
    io.signal$.next('SIGINT')
    await code
    writeFileSync(holidays, '13.02.2026')
    expect(await type(['serve', '--port', '0', '--out', out], io, NEVER, { holidays })).toBe(2)
    expect(io.err.text()).toContain(`holidays: ${holidays}:1: invalid date "13.02.2026"; use YYYY-MM-DD`)
  })

  it('says which option chooses another port', async () => {
    const port = await takePort()
    const io = createTestIo()
    expect(await type(['serve', '--port', String(port), '--out', temporaryFolder()], io)).toBe(2)
    expect(io.err.text()).toContain(
      `--port: port ${port} is in use; choose another one, or 0 for any free port`,
    )
  })
})

describe('scripstream run --serve', () => {
  it('serves the run that is active, and ends with it where nobody types', async () => {
    const io = createTestIo()
    const code = type(['run', '--serve', '0', '--out', temporaryFolder()], io, of(started(['market-news'])))
    const address = await findAddress(io.err.text)
    expect(io.err.text()).toContain(`The page of this run: ${address}/run\n`)
    await code
    await expect(fetch(address)).rejects.toThrow()
  })

  it('tells connected browsers how the run ended before it ends, where nobody types', async () => {
    const [out, io, event$] = [temporaryFolder(), createTestIo(), new ReplaySubject<RunEvent>()]
    event$.next(started(['market-news']))
    const code = type(['run', '--serve', '0', '--out', out], io, event$)
    const response = await fetch(`${await findAddress(io.err.text)}/api/live`)
    const report = runReport({ outcome: 'failed', error: 'the disk is full' })
    mkdirSync(join(out, '.scripstream'))
    writeFileSync(join(out, '.scripstream/report.json'), JSON.stringify(report))
    event$.next({ type: 'run-finished', report })
    event$.complete()
    const sent = parseEvents(await response.text())
    expect(sent[0]?.data.run).toMatchObject({ run: 'r1' })
    expect(sent.at(-1)?.data).toMatchObject({
      run: null,
      state: {
        isActive: false,
        answer: { word: 'The last run failed', text: expect.stringContaining('the disk is full') },
      },
    })
    expect(await code).toBe(1)
  })

  it('keeps the page after the run on a terminal, until Ctrl+C, with the exit code of the run', async () => {
    const io = createTestIo({ out: { columns: 80 } })
    const code = type(['run', '--serve', '0', '--out', temporaryFolder()], io, from(events))
    const address = await findAddress(() => /stays at .*/.exec(io.err.text())?.[0] ?? '')
    const response = await fetch(`${address}/api/live`)
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes('"outcome":"complete"')) text += (await reader?.read())?.value ?? ''
    io.signal$.next('SIGINT')
    expect(await code).toBe(0)
    await expect(fetch(address)).rejects.toThrow()
  })

  it('sends no request where its port is taken', async () => {
    const port = await takePort()
    const io = createTestIo()
    let isStarted = false
    const event$ = new Observable<RunEvent>(() => {
      isStarted = true
    })
    expect(await type(['run', '--serve', String(port), '--out', temporaryFolder()], io, event$)).toBe(2)
    expect(io.err.text()).toContain(`--serve: port ${port} is in use`)
    expect(isStarted).toBe(false)
  })
})
