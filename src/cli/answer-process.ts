import { spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { constants, setPriority } from 'node:os'
import { text } from 'node:stream/consumers'
import { Worker } from 'node:worker_threads'
import type { RecordedChecks } from '../analysis/verify/recorded-checks.js'
import { CollectError, UsageError } from '../model/errors.js'
import type { Settings } from '../model/settings.js'
import type { ShowAnswers, ShowRequest, ShowRunner } from '../show/index.js'
import { toSpillFolder } from '../storage/duckdb.js'
import type { QueryRunner } from '../web/server/query.js'
import type { RunWork } from '../web/server/serve.js'
import type { Dependencies, ProcessIo } from './dependencies.js'
import type { ToolRunner, ToolTask } from './mcp/tools.js'
import { readText } from './options.js'

/** The hidden option of `serve` with which it answers the task on stdin instead. */
const ANSWER = '--answer'

/** The memory of an answer, all in all, and what the system gives it: the code of Node and DuckDB does not count as data. */
const MAX_BYTES = 2_000_000_000
const MAX_DATA_KB = 1_850_000

type Task =
  | ToolTask
  | { readonly query: Parameters<QueryRunner>[0] }
  | ShowRequest
  | { readonly changes: 'last-run' }
  | { readonly checks: 'present-files' }
type Reply = { readonly answer: unknown } | { readonly refusal: string }

/**
 * What needs much memory is answered in a process of its own: a query over the whole market needs up to 2 GB, of which DuckDB returns little to
 * the system before the process ends, and the changes of a run 200 MB. The server stays below 300 MB, and neither it nor a run in it ends if
 * memory runs out. DuckDB does not count all memory (one `repeat` took 4 GB of "2 GB at most"): the system limits the process. Checks have the
 * lowest priority: a page that is open must not slow a run.
 */
export const createAnswerProcesses = (
  settings: Pick<Settings, 'out' | 'streams'>,
): Required<RunWork> & { readonly ask: QueryRunner; readonly show: ShowRunner; readonly callTool: ToolRunner } => {
  let isBusy = false
  return {
    ask: async (query, signal) => {
      if (isBusy) throw new UsageError('another query is running; wait for its end, or stop it')
      isBusy = true
      try {
        return await runTask(settings, { query }, signal)
      } finally {
        isBusy = false
      }
    },
    // JSON has no undefined.
    show: async <Kind extends keyof ShowAnswers>(request: ShowRequest<Kind>) =>
      ((await runTask<ShowAnswers[Kind] | null>(settings, request)) ?? undefined) as ShowAnswers[Kind],
    callTool: (task, signal) => runTask(settings, task, signal),
    compare: () => runTask(settings, { changes: 'last-run' }),
    check: async () => {
      const late = AbortSignal.timeout(CHECK_TIME_MS)
      try {
        return (await runTask<RecordedChecks | null>(settings, { checks: 'present-files' }, late)) ?? undefined
      } catch (error) {
        if (!late.aborted) throw error
        throw new UsageError(`stopped after ${CHECK_TIME_MS / 60_000} min; "scripstream verify" has no limit`)
      }
    },
  }
}

/** Ten times what the checks of the whole market take. */
const CHECK_TIME_MS = 180_000
/** Twice what they need. */
const CHECK_HEAP_MB = 1_000

const lowerPriority = (pid: number): void => {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW)
  } catch {
    // It has ended already, or the system does not permit it.
  }
}

const runTask = async <Answer>({ out, streams }: Pick<Settings, 'out' | 'streams'>, task: Task, signal?: AbortSignal): Promise<Answer> => {
  const [node, command = ''] = process.argv
  const args = [command, 'serve', ANSWER, '--out', out, ...streams.flatMap((file) => ['--streams', file])]
  const isCheck = 'checks' in task
  const limits = isCheck ? [`--max-old-space-size=${CHECK_HEAP_MB}`] : []
  const child = spawnLimited([node ?? process.execPath, ...limits, ...args])
  if (isCheck && child.pid !== undefined) lowerPriority(child.pid)
  const kill = (): boolean => child.kill('SIGKILL')
  signal?.addEventListener('abort', kill)
  process.on('exit', kill)
  if (signal?.aborted) kill()
  const ended = new Promise<void>((resolve, reject) => child.on('error', reject).on('close', () => resolve()))
  // A process that has ended before it has read the task says why on stderr.
  child.stdin.on('error', () => undefined).end(JSON.stringify({ ...task, server: process.pid }))
  // A statement that was interrupted may go on for half a minute after the reply.
  child.stdout.on('data', (chunk: Buffer) => chunk.at(-1) === LINE_END && kill())
  try {
    const [printed, complaint] = await Promise.all([text(child.stdout), text(child.stderr), ended])
    if (signal?.aborted) throw new UsageError('stopped')
    return readReply(printed, complaint) as Answer
  } finally {
    signal?.removeEventListener('abort', kill)
    process.off('exit', kill)
    // A process that was killed leaves what it had moved to the disk.
    if (child.pid !== undefined) await rm(toSpillFolder(child.pid), { recursive: true, force: true })
  }
}

const LINE_END = 10

/** Without a shell that can limit a process, its own watcher alone ends it. */
const spawnLimited = ([command = '', ...args]: readonly string[]) =>
  process.platform === 'win32'
    ? spawn(command, args)
    : spawn('sh', ['-c', `ulimit -d ${MAX_DATA_KB} 2>/dev/null; exec "$@"`, 'sh', command, ...args])

/**
 * Ends this process, whatever it is doing, once its server has gone or it has more memory than it may: macOS does not count what is mapped.
 * In a thread of its own, because a statement can block this one.
 */
const watchProcess = (server: number): void =>
  new Worker(
    `const { server, maxBytes } = require('node:worker_threads').workerData
    setInterval(() => {
      if (process.ppid !== server || process.memoryUsage.rss() > maxBytes) process.kill(process.pid, 'SIGKILL')
    }, 100)`,
    { eval: true, execArgv: [], workerData: { server, maxBytes: MAX_BYTES } },
  ).unref()

/** V8 prints a page of addresses. */
const OUT_OF_MEMORY = /out of memory|bad_alloc/

const readReply = (printed: string, complaint: string): unknown => {
  if (printed === '')
    throw new UsageError(
      `the process ended without an answer: ${complaint === '' || OUT_OF_MEMORY.test(complaint) ? 'memory may have run out' : complaint.trim()}`,
    )
  const reply = JSON.parse(printed) as Reply
  if ('refusal' in reply) throw new UsageError(reply.refusal)
  return reply.answer
}

/** The other side: reads a task from stdin and prints its answer, or why it was refused. */
export const answerTask = async (
  { out, exchange }: Pick<Settings, 'out' | 'exchange'>,
  { stdout, scheduler }: Pick<ProcessIo, 'stdout' | 'scheduler'>,
  { streams }: Pick<Dependencies, 'streams'>,
): Promise<number> => {
  const { server, ...task } = JSON.parse(readText('-', ANSWER)) as Task & { readonly server: number }
  watchProcess(server)
  const answer = async (): Promise<unknown> => {
    if ('changes' in task) return (await import('../web/server/changes.js')).compareLastRun({ out, exchange })
    if ('tool' in task) return (await import('./mcp/tools.js')).callTool(task, { out, exchange, streams })
    if ('checks' in task) {
      const { verifyAndRecord } = await import('./folder-readers.js')
      // Null, because JSON has no undefined.
      return (await verifyAndRecord(out, { streams, exchange, limits: {} }, () => scheduler.now())).checks ?? null
    }
    if ('show' in task) {
      const { createShowRunner, openMarketFolder } = await import('../show/index.js')
      return (await createShowRunner(openMarketFolder({ root: out, exchange, streams }))(task)) ?? null
    }
    const { createQueryRunner } = await import('../web/server/query.js')
    return createQueryRunner({ root: out, exchange, streams })(task.query, new AbortController().signal)
  }
  const reply: Reply = await answer().then(
    (value) => ({ answer: value }),
    (error: unknown) => {
      if (error instanceof CollectError) return { refusal: error.message }
      throw error
    },
  )
  await new Promise<void>((resolve) => stdout.write(`${JSON.stringify(reply)}\n`, () => resolve()))
  return 0
}
