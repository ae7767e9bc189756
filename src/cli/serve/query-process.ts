import { spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { CollectError, UsageError } from '../../model/errors.js'
import type { Settings } from '../../model/settings.js'
import { toSpillFolder } from '../../storage/duckdb.js'
import type { QueryAnswer, QueryRequest } from '../../web/api/query.js'
import type { QueryRunner } from '../../web/data/query.js'
import type { Dependencies, ProcessIo } from '../dependencies.js'
import { readText } from '../options.js'

/** The hidden option of `serve` with which it answers the query on stdin instead. */
const ANSWER_QUERY = '--answer-query'

type QueryReply = { readonly answer: QueryAnswer } | { readonly refusal: string }

/**
 * Answers queries of the page, each in a process of its own: a query over the whole market needs up to 2 GB, of which DuckDB returns little to
 * the system before the process ends. The server stays below 300 MB, and neither it nor a run in it ends if memory runs out.
 */
export const createQueryProcess = ({ out, streams }: Pick<Settings, 'out' | 'streams'>): QueryRunner => {
  const [node, command = ''] = process.argv
  const args = [command, 'serve', ANSWER_QUERY, '--out', out, ...streams.flatMap((file) => ['--streams', file])]
  let isBusy = false
  return async (request, signal) => {
    if (isBusy) throw new UsageError('another query is running; wait for its end, or stop it')
    isBusy = true
    const child = spawn(node ?? process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    const kill = (): boolean => child.kill('SIGKILL')
    signal.addEventListener('abort', kill)
    if (signal.aborted) kill()
    const ended = new Promise<void>((resolve, reject) => child.on('error', reject).on('close', () => resolve()))
    // A process that has ended before it has read the query says why on stderr.
    child.stdin.on('error', () => undefined).end(JSON.stringify(request))
    try {
      const [printed, complaint] = await Promise.all([text(child.stdout), text(child.stderr), ended])
      if (signal.aborted) throw new UsageError('stopped')
      return readReply(printed, complaint)
    } finally {
      signal.removeEventListener('abort', kill)
      isBusy = false
      // A process that was killed leaves what it had moved to the disk.
      if (child.pid !== undefined) await rm(toSpillFolder(child.pid), { recursive: true, force: true })
    }
  }
}

const readReply = (printed: string, complaint: string): QueryAnswer => {
  if (printed === '')
    throw new UsageError(`the query ended without an answer${complaint === '' ? ': memory may have run out' : `: ${complaint.trim()}`}`)
  const reply = JSON.parse(printed) as QueryReply
  if ('refusal' in reply) throw new UsageError(reply.refusal)
  return reply.answer
}

/** The other side: reads a query from stdin and prints its answer, or why it was refused. */
export const answerQuery = async (
  { out, exchange }: Pick<Settings, 'out' | 'exchange'>,
  { stdout }: Pick<ProcessIo, 'stdout'>,
  { streams }: Pick<Dependencies, 'streams'>,
): Promise<number> => {
  const request = JSON.parse(readText('-', ANSWER_QUERY)) as QueryRequest
  const { createQueryRunner } = await import('../../web/data/query.js')
  const reply: QueryReply = await createQueryRunner({ root: out, exchange, streams })(request, new AbortController().signal).then(
    (answer) => ({ answer }),
    (error: unknown) => {
      if (error instanceof CollectError) return { refusal: error.message }
      throw error
    },
  )
  await new Promise<void>((resolve) => stdout.write(JSON.stringify(reply), () => resolve()))
  return 0
}
