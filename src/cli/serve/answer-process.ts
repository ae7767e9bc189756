import { spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { CollectError, UsageError } from '../../model/errors.js'
import type { Settings } from '../../model/settings.js'
import { toSpillFolder } from '../../storage/duckdb.js'
import type { QueryAnswer, QueryRequest } from '../../web/api/query.js'
import type { FolderChanges } from '../../web/api/state.js'
import type { QueryRunner } from '../../web/data/query.js'
import type { Dependencies, ProcessIo } from '../dependencies.js'
import { readText } from '../options.js'

/** The hidden option of `serve` with which it answers the task on stdin instead. */
const ANSWER = '--answer'

type Task = { readonly query: QueryRequest } | { readonly changes: 'last-run' }
type Reply = { readonly answer: unknown } | { readonly refusal: string }

/**
 * What needs much memory is answered in a process of its own: a query over the whole market needs up to 2 GB, of which DuckDB returns little to
 * the system before the process ends, and the changes of a run 200 MB. The server stays below 300 MB, and neither it nor a run in it ends if
 * memory runs out.
 */
export const createAnswerProcesses = (
  settings: Pick<Settings, 'out' | 'streams'>,
): { readonly ask: QueryRunner; readonly compare: () => Promise<FolderChanges> } => {
  let isBusy = false
  return {
    ask: async (query, signal) => {
      if (isBusy) throw new UsageError('another query is running; wait for its end, or stop it')
      isBusy = true
      try {
        return (await runTask(settings, { query }, signal)) as QueryAnswer
      } finally {
        isBusy = false
      }
    },
    compare: async () => (await runTask(settings, { changes: 'last-run' })) as FolderChanges,
  }
}

const runTask = async ({ out, streams }: Pick<Settings, 'out' | 'streams'>, task: Task, signal?: AbortSignal): Promise<unknown> => {
  const [node, command = ''] = process.argv
  const args = [command, 'serve', ANSWER, '--out', out, ...streams.flatMap((file) => ['--streams', file])]
  const child = spawn(node ?? process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  const kill = (): boolean => child.kill('SIGKILL')
  signal?.addEventListener('abort', kill)
  process.on('exit', kill)
  if (signal?.aborted) kill()
  const ended = new Promise<void>((resolve, reject) => child.on('error', reject).on('close', () => resolve()))
  // A process that has ended before it has read the task says why on stderr.
  child.stdin.on('error', () => undefined).end(JSON.stringify(task))
  try {
    const [printed, complaint] = await Promise.all([text(child.stdout), text(child.stderr), ended])
    if (signal?.aborted) throw new UsageError('stopped')
    return readReply(printed, complaint)
  } finally {
    signal?.removeEventListener('abort', kill)
    process.off('exit', kill)
    // A process that was killed leaves what it had moved to the disk.
    if (child.pid !== undefined) await rm(toSpillFolder(child.pid), { recursive: true, force: true })
  }
}

const readReply = (printed: string, complaint: string): unknown => {
  if (printed === '')
    throw new UsageError(`the process ended without an answer${complaint === '' ? ': memory may have run out' : `: ${complaint.trim()}`}`)
  const reply = JSON.parse(printed) as Reply
  if ('refusal' in reply) throw new UsageError(reply.refusal)
  return reply.answer
}

/** The other side: reads a task from stdin and prints its answer, or why it was refused. */
export const answerTask = async (
  { out, exchange }: Pick<Settings, 'out' | 'exchange'>,
  { stdout }: Pick<ProcessIo, 'stdout'>,
  { streams }: Pick<Dependencies, 'streams'>,
): Promise<number> => {
  const task = JSON.parse(readText('-', ANSWER)) as Task
  const answer = async (): Promise<unknown> => {
    if ('changes' in task) return (await import('../../web/server/changes.js')).compareLastRun({ out, exchange })
    const { createQueryRunner } = await import('../../web/data/query.js')
    return createQueryRunner({ root: out, exchange, streams })(task.query, new AbortController().signal)
  }
  const reply: Reply = await answer().then(
    (value) => ({ answer: value }),
    (error: unknown) => {
      if (error instanceof CollectError) return { refusal: error.message }
      throw error
    },
  )
  await new Promise<void>((resolve) => stdout.write(JSON.stringify(reply), () => resolve()))
  return 0
}
