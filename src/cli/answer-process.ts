import { spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { Worker } from 'node:worker_threads'
import { CollectError, UsageError } from '../model/errors.js'
import type { Settings } from '../model/settings.js'
import type { ShowAnswers, ShowRequest, ShowRunner } from '../show/index.js'
import { toSpillFolder } from '../storage/duckdb.js'
import type { RecordedChecks } from '../verify/recorded-checks.js'
import { type CsvExport, createQueue, type QueryRunner } from '../web/server/queue.js'
import type { RunWork } from '../web/server/serve.js'
import type { Dependencies, ProcessIo } from './dependencies.js'
import type { ToolRunner, ToolTask } from './mcp/tools.js'

/** The hidden option of `serve` with which it answers the task on stdin instead. */
const ANSWER = '--answer'

/**
 * The memory of an answer, all in all, and what the system gives it: the code of Node and DuckDB does not
 * count as data.
 */
const MAX_ANSWER_BYTES = 2_000_000_000
const MAX_DATA_KB = 1_850_000

type AnsweredFolder = Pick<Settings, 'out' | 'streams'>

type Task =
  | ToolTask
  | { readonly query: Parameters<QueryRunner>[0] }
  | { readonly csv: Parameters<CsvExport>[0] }
  | ShowRequest
  | { readonly changes: 'last-run' }
  | { readonly checks: 'present-files' }
/**
 * An answer, and the memory of its process afterwards, or half of the most that it ever had: what it returned
 * still counts for its limit.
 */
interface TaskAnswer {
  readonly answer: unknown
  readonly bytes: number
}
type TaskReply = TaskAnswer | { readonly refusal: string }

/**
 * What needs much memory is answered in a process of its own: a query over the whole market needs up to 2 GB,
 * of which DuckDB returns little to the system before the process ends, and the changes of a run 200 MB. The
 * server stays below 300 MB, and neither it nor a run in it ends if memory runs out. DuckDB does not count
 * all memory (one `repeat` took 4 GB of "2 GB at most"): the system limits the process. Checks have the
 * lowest priority: a page that is open must not slow a run. What the page shows is answered by two processes
 * that stay while they are needed.
 */
export const createAnswerProcesses = (
  settings: AnsweredFolder,
): Required<RunWork> & {
  readonly ask: QueryRunner
  readonly exportCsv: CsvExport
  readonly show: ShowRunner
  readonly callTool: ToolRunner
} => {
  const askKept = createKeptProcesses(settings)
  return {
    ask: (query, signal) => runTask(settings, { query }, signal),
    exportCsv: (query, signal) => exportCsv(settings, query, signal),
    // JSON has no undefined.
    show: async <Kind extends keyof ShowAnswers>(
      request: ShowRequest<Kind>,
      signal = new AbortController().signal,
    ) => ((await askKept(request, signal)) ?? undefined) as ShowAnswers[Kind],
    callTool: (task, signal) => runTask(settings, task, signal),
    compare: () => runTask(settings, { changes: 'last-run' }),
    check: async () => {
      const late = AbortSignal.timeout(CHECK_TIME_MS)
      try {
        return (
          (await runTask<RecordedChecks | null>(settings, { checks: 'present-files' }, late)) ?? undefined
        )
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

const startChild = ({ out, streams }: AnsweredFolder, isCheck = false) => {
  const [node, command = ''] = process.argv
  const args = [command, 'serve', ANSWER, '--out', out, ...streams.flatMap((file) => ['--streams', file])]
  const limits = isCheck ? [`--max-old-space-size=${CHECK_HEAP_MB}`] : []
  const child = spawnLimited([node ?? process.execPath, ...limits, ...args], isCheck)
  const { pid } = child
  const end = (): void => void child.kill('SIGKILL')
  process.on('exit', end)
  const failure = new Promise<never>((_, reject) => child.on('error', reject))
  failure.catch(() => undefined)
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve())).then(async () => {
    process.off('exit', end)
    // A process that was killed leaves what it had moved to the disk. It is in the system's temporary folder:
    // nothing is lost if it stays.
    if (pid !== undefined)
      await rm(toSpillFolder(pid), { recursive: true, force: true }).catch(() => undefined)
  })
  // A process that has ended before it has read the task says why on stderr.
  child.stdin.on('error', () => undefined)
  const complaint = text(child.stderr)
  const send = (task: Task): boolean =>
    child.stdin.write(`${JSON.stringify({ ...task, server: process.pid })}\n`)
  return { child, send, end, ended, complaint, failure }
}

type AnswerProcess = ReturnType<typeof startProcess>

const startProcess = (settings: AnsweredFolder, isCheck = false) => {
  const { child, send, end, ended, complaint, failure } = startChild(settings, isCheck)
  const replies = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    end,
    ended,
    ask: async (task: Task): Promise<TaskAnswer> => {
      send(task)
      const reply = await Promise.race([replies.next(), failure])
      return readReply(reply.done ? '' : reply.value, reply.done ? await complaint : '')
    },
  }
}

const askUntil = async (
  { ask, end }: AnswerProcess,
  task: Task,
  signal?: AbortSignal,
): Promise<TaskAnswer> => {
  signal?.addEventListener('abort', end)
  if (signal?.aborted) end()
  try {
    return await ask(task)
  } catch (error) {
    throw signal?.aborted ? new UsageError('stopped') : error
  } finally {
    signal?.removeEventListener('abort', end)
  }
}

const runTask = async <Answer>(
  settings: AnsweredFolder,
  task: Task,
  signal?: AbortSignal,
): Promise<Answer> => {
  const started = startProcess(settings, 'checks' in task)
  try {
    return (await askUntil(started, task, signal)).answer as Answer
  } finally {
    // A statement that was interrupted may go on for half a minute after the reply.
    started.end()
    await started.ended
  }
}

/** A reader may take its time: a download that stands still is ended then. */
const EXPORT_TIME_MS = 600_000

/** The process prints the lines itself: neither it nor this one ever has all of them. */
async function* exportCsv(
  settings: AnsweredFolder,
  csv: Parameters<CsvExport>[0],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { child, send, end, ended, complaint, failure } = startChild(settings)
  const stop = AbortSignal.any([signal, AbortSignal.timeout(EXPORT_TIME_MS)])
  stop.addEventListener('abort', end)
  if (stop.aborted) end()
  try {
    send({ csv })
    child.stdin.end()
    yield* child.stdout
    await Promise.race([ended, failure])
    if (stop.aborted) throw new UsageError('stopped')
    if (child.exitCode !== 0) throw describeEnd(await complaint)
  } finally {
    end()
    await ended
  }
}

/** A process without a question for this time is ended. */
const IDLE_MS = 60_000
/** What the free ones may have together: the server and they stay below 300 MB. */
const MAX_IDLE_BYTES = 200_000_000
/** A page asks for a few at once, and a reader may have many pages. */
const MAX_WAITING_ANSWERS = 200

/**
 * Two answer at a time. They stay for the next questions, because to start one takes longer than most
 * answers.
 */
const createKeptProcesses = (settings: AnsweredFolder) => {
  /** The bytes of those that answer nothing now, and what ends each. */
  const free = new Map<AnswerProcess, { readonly bytes: number; readonly timer: NodeJS.Timeout }>()
  const take = (used: AnswerProcess | undefined): AnswerProcess | undefined => {
    if (used === undefined) return undefined
    clearTimeout(free.get(used)?.timer)
    free.delete(used)
    return used
  }
  const start = (): AnswerProcess => {
    const started = startProcess(settings)
    void started.ended.then(() => take(started))
    return started
  }
  const keep = (used: AnswerProcess, bytes: number): void => {
    if ([...free.values()].reduce((sum, one) => sum + one.bytes, bytes) > MAX_IDLE_BYTES) used.end()
    else free.set(used, { bytes, timer: setTimeout(() => take(used)?.end(), IDLE_MS).unref() })
  }
  const inTurn = createQueue(MAX_WAITING_ANSWERS)
  const askOne = async (task: Task, signal: AbortSignal): Promise<unknown> => {
    const used = take([...free.keys()].at(-1)) ?? start()
    try {
      const { answer, bytes } = await askUntil(used, task, signal)
      keep(used, bytes)
      return answer
    } catch (error) {
      used.end()
      throw error
    }
  }
  /**
   * The first question about a market also fills the lake. If it had no room for both, the next process has
   * less to do.
   */
  const askAgain = (task: Task, signal: AbortSignal): Promise<unknown> =>
    askOne(task, signal).catch((error: unknown) => {
      if (signal.aborted || !(error instanceof UsageError) || !LACKS_MEMORY.test(error.message)) throw error
      return askOne(task, signal)
    })
  return (task: Task, signal: AbortSignal): Promise<unknown> => inTurn(() => askAgain(task, signal), signal)
}

const LACKS_MEMORY = /more memory than it may use|memory may have run out/

/**
 * Memory that DuckDB frees goes back to the system. Otherwise its allocator keeps the addresses: the system
 * counts them as data, and a folder of two stocks had 1.8 GB of them, with 150 MB in use.
 */
const ALLOCATOR = { DUCKDB_JE_MALLOC_CONF: 'retain:false' }

/** Without a shell that can limit a process, its own watcher alone ends it. */
const spawnLimited = ([command = '', ...args]: readonly string[], isCheck: boolean) => {
  const env = { ...process.env, ...ALLOCATOR }
  if (process.platform === 'win32') return spawn(command, args, { env })
  const limit = `ulimit -d ${MAX_DATA_KB} 2>/dev/null; exec ${isCheck ? 'nice -n 19 ' : ''}"$@"`
  return spawn('sh', ['-c', limit, 'sh', command, ...args], { env })
}

/**
 * Ends this process, whatever it is doing, once its server has gone or it has more memory than it may: macOS
 * does not count what is mapped. In a thread of its own, because a statement can block this one.
 */
const watchProcess = (server: number): void =>
  new Worker(
    `const { server, maxBytes } = require('node:worker_threads').workerData
    setInterval(() => {
      if (process.ppid !== server || process.memoryUsage.rss() > maxBytes) process.kill(process.pid, 'SIGKILL')
    }, 100)`,
    { eval: true, execArgv: [], workerData: { server, maxBytes: MAX_ANSWER_BYTES } },
  ).unref()

/** V8 prints a page of addresses. */
const OUT_OF_MEMORY = /out of memory|bad_alloc/

const describeEnd = (complaint: string): UsageError =>
  new UsageError(
    complaint === '' || OUT_OF_MEMORY.test(complaint) ? 'memory may have run out' : complaint.trim(),
  )

const readReply = (printed: string, complaint: string): TaskAnswer => {
  if (printed === '')
    throw new UsageError(`the process ended without an answer: ${describeEnd(complaint).message}`)
  const reply = JSON.parse(printed) as TaskReply
  if ('refusal' in reply) throw new UsageError(reply.refusal)
  return reply
}

/** The other side: prints the answer to each task of stdin, or why it was refused, until its end. */
export const answerTasks = async (
  settings: Pick<Settings, 'out' | 'exchange'>,
  { stdout, stderr, scheduler }: Pick<ProcessIo, 'stdout' | 'stderr' | 'scheduler'>,
  { streams }: Pick<Dependencies, 'streams'>,
): Promise<number> => {
  const answerTask = createTaskAnswers({ ...settings, streams }, scheduler)
  let isWatched = false
  for await (const line of createInterface({ input: process.stdin })) {
    const { server, ...task } = JSON.parse(line) as Task & { readonly server: number }
    if (!isWatched) watchProcess(server)
    isWatched = true
    if ('csv' in task) {
      const { printWhole } = await import('./query/print.js')
      return printWhole(task.csv, { out: settings.out, streams }, { stdout, stderr })
    }
    const reply = await answerTask(task).then(
      (answer): TaskReply => ({
        answer,
        bytes: Math.max(process.memoryUsage.rss(), process.resourceUsage().maxRSS * 512),
      }),
      (error: unknown): TaskReply => {
        if (error instanceof CollectError) return { refusal: error.message }
        throw error
      },
    )
    await new Promise<void>((resolve) => stdout.write(`${JSON.stringify(reply)}\n`, () => resolve()))
  }
  return 0
}

const createTaskAnswers = (
  { out, exchange, streams }: Pick<Settings, 'out' | 'exchange'> & Pick<Dependencies, 'streams'>,
  scheduler: ProcessIo['scheduler'],
) => {
  let show: ShowRunner | undefined
  // Null, because JSON has no undefined.
  return async (task: Exclude<Task, { readonly csv: unknown }>): Promise<unknown> => {
    if ('changes' in task)
      return (await import('../web/server/changes.js')).compareLastRun({ out, exchange, streams })
    if ('tool' in task) return (await import('./mcp/tools.js')).callTool(task, { out, exchange, streams })
    if ('checks' in task) {
      const { verifyAndRecord } = await import('../verify/recorded-checks.js')
      return (
        (await verifyAndRecord(out, { streams, exchange, limits: {} }, () => scheduler.now())).checks ?? null
      )
    }
    if ('show' in task) {
      const { createShowRunner, openMarketFolder } = await import('../show/index.js')
      show ??= createShowRunner(openMarketFolder({ root: out, exchange, streams }))
      return (await show(task)) ?? null
    }
    const { createQueryRunner } = await import('../web/server/query.js')
    return createQueryRunner({ root: out, exchange, streams })(task.query, new AbortController().signal)
  }
}
