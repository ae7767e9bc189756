import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defer, EMPTY, type Observable, of, Subject, tap, VirtualTimeScheduler } from 'rxjs'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import type { Dependencies, ProcessIo } from '../../src/cli/dependencies.js'
import { createSummary, type SummaryContext } from '../../src/cli/run/summary.js'
import type { ExitSignal } from '../../src/cli/signals.js'
import { type AnswerLine, layOut, trimLine } from '../../src/cli/terminal/terminal.js'
import type { StreamDefinition } from '../../src/engine/define-stream.js'
import { type AllTelemetry, startTelemetry } from '../../src/engine/event-bus.js'
import { captureContext } from '../../src/model/context.js'
import type { RunEvent } from '../../src/model/event.js'
import type { RunReport, ScriptReport } from '../../src/model/report.js'
import { createRunStats } from '../../src/model/run-stats.js'
import { Settings } from '../../src/model/settings.js'
import { createWall } from '../../src/model/wall.js'
import { streams } from '../../streams/registry.js'
import { createRecorder, type Recorder, type RecorderOptions } from './screen.js'
// A command other than run is loaded when it is typed; here it is loaded before, so that it is subscribed to
// in the next turn.
import '../../src/cli/index.js'

/** Lets virtual time pass up to an instant. */
export const advance = (scheduler: VirtualTimeScheduler, to: number): void => {
  scheduler.schedule(() => undefined, to - scheduler.now())
  scheduler.maxFrames = to
  scheduler.flush()
}

export interface TestIo extends ProcessIo {
  readonly out: Recorder
  readonly err: Recorder
  readonly scheduler: VirtualTimeScheduler
  readonly signal$: Subject<ExitSignal>
  readonly exits: number[]
}

interface TestIoOptions {
  readonly out?: RecorderOptions
  readonly err?: RecorderOptions
  readonly env?: NodeJS.ProcessEnv
  /** What the clock says, epoch milliseconds; 0 by default. */
  readonly now?: number
}

export const createTestIo = (options: TestIoOptions = {}): TestIo => {
  const out = createRecorder(options.out)
  const err = createRecorder(options.err)
  const exits: number[] = []
  const scheduler = new VirtualTimeScheduler(undefined, 0)
  scheduler.frame = options.now ?? 0
  return {
    out,
    err,
    stdin: { isTTY: true },
    readLine: () => Promise.reject(new Error('not in this test')),
    stdout: out.stream,
    stderr: err.stream,
    wall: createWall(),
    env: options.env ?? {},
    scheduler,
    signal$: new Subject(),
    exits,
    exit: (code) => void exits.push(code),
  }
}

const part = { key: 'all', rank: 0, fileName: 'all', value: 'all' }

export const defineTestStream = (
  facts: Partial<StreamDefinition> & Pick<StreamDefinition, 'name' | 'phase'>,
): StreamDefinition => ({
  summary: `the ${facts.name}`,
  workers: 1,
  timeoutMs: 1_000,
  endpoints: [],
  work: { parts: [part], each: () => EMPTY },
  outputs: [{ shape: 'text', file: `${facts.name}.csv` }],
  ...facts,
})

export const tinyRegistry: readonly StreamDefinition[] = [
  defineTestStream({ name: 'master-data', phase: 'core' }),
  defineTestStream({
    name: 'market-news',
    phase: 'enrichment',
    workers: 15,
    work: { of: 'master-data', parts: [], each: () => EMPTY },
    outputs: [{ shape: 'array-per-item', file: 'market_news/{symbol}_news.json' }],
  }),
  defineTestStream({
    name: 'surveillance-lists',
    phase: 'enrichment',
    outputs: [
      {
        shape: 'array-per-item',
        file: '{exch}_asm_list.json',
        tables: [{ name: 'alerts', about: 'alerts', columns: [] }],
      },
    ],
  }),
]

/** A folder in memory that passes its reports to a listener. */
export const reportsTo =
  (
    listen: (report: RunReport) => Observable<void>,
    files: MemoryFiles = new Map(),
  ): Dependencies['storage'] =>
  () => {
    const { stored, storeDocument } = memory(files)
    return {
      stored,
      storeDocument: (name, document) =>
        name === 'report.json' ? listen(document as RunReport) : storeDocument(name, document),
    }
  }

/** Fake dependencies; the collector emits the given events. */
/** The events of a run as a collector emits them, which also has statistics and telemetry. */
export const playEvents = (
  event$: Observable<RunEvent>,
  telemetry: AllTelemetry | undefined,
): Observable<RunEvent> =>
  defer(() => {
    const stats = createRunStats()
    const followers = startTelemetry(telemetry, { wall: createWall(), within: captureContext() }, stats)
    return event$.pipe(
      tap((event) => {
        stats.record(event)
        followers?.event?.(event)
      }),
    )
  })

export const createTestDependencies = (
  event$: Observable<RunEvent> = EMPTY,
  changes: Partial<Dependencies> = {},
): Dependencies => ({
  version: '1.2.3',
  pageFolder: '/nowhere',
  streams: tinyRegistry,
  optionalPackages: [],
  settingRows: () => [
    { name: 'out', env: 'SCRIPSTREAM_OUT', default: './data', description: 'output folder' },
  ],
  loadSettings: ({ flags }) => Settings.parse(flags),
  loadNotifySettings: ({ flags }) => Settings.parse(flags),
  findOrigins: () => new Map(),
  createCollector: ({ telemetry }) => ({
    events: () => playEvents(event$, telemetry),
    run: () => EMPTY,
    stream: () => EMPTY,
  }),
  storage: reportsTo(() => of(undefined)),
  findMaxOpenFiles: () => Number.POSITIVE_INFINITY,
  serveSimulator: () => Promise.reject(new Error('not in this test')),
  fleet: () => Promise.reject(new Error('not in this test')),
  ...changes,
})

export const scriptReport = (facts: Partial<ScriptReport> = {}): ScriptReport => ({
  outcome: 'success',
  durationMs: 1_000,
  requests: 1,
  retries: 0,
  rateLimited: 0,
  items: { success: 1, empty: 0, skipped: 0, rate_limit: 0, error: 0 },
  degraded: 0,
  takenOver: 0,
  files: 1,
  bytes: 1_000,
  problems: [],
  ...facts,
})

export const runReport = (facts: Partial<RunReport> = {}): RunReport => ({
  run: 'r1',
  asOf: '2026-02-12T14:30:00.000Z',
  startedAt: '2026-02-12T14:30:00.000Z',
  finishedAt: '2026-02-12T14:30:12.000Z',
  durationMs: 12_000,
  outcome: 'complete',
  stocks: 500,
  scripts: { 'master-data': scriptReport() },
  ...facts,
})

/** The lines of the summary of a run, without colours. */
export const summaryLines = (
  report: RunReport,
  { columns = 80, ...changes }: Partial<SummaryContext> & { columns?: number } = {},
): string[] => {
  const place = { out: './data', args: ['run'], sinks: [], streams }
  const context = { ...place, isReportStored: true, isSimulated: false, ...changes }
  return toTexts(createSummary(report, context), columns)
}

/** The lines of an answer in a terminal of so many columns, without colours. */
export const toTexts = (lines: readonly AnswerLine[], columns: number): string[] =>
  layOut(lines, columns).map((line) =>
    trimLine(line)
      .map(([text]) => text)
      .join(''),
  )

/** A settings file with a content. */
export const settingsFile = (content: string): string => {
  const path = join(mkdtempSync(join(tmpdir(), 'scripstream-')), 'my.json')
  writeFileSync(path, content)
  return path
}
