import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { toFilePath } from '../engine/define-stream.js'
import type { PlannedStream } from '../engine/plan.js'
import { REPORT_FILE } from '../engine/storage.js'
import { refusalCodes } from '../market/refusal-policy.js'
import { UsageError } from '../model/errors.js'
import { Settings } from '../model/settings.js'
import { disk } from '../storage/disk.js'
import { getErrorCode, ignoreMissing } from '../storage/file-system.js'
import { listOutputFiles } from '../storage/output-files.js'
import type { BlobStore } from './blobs.js'
import { ignoreError } from './ignore-error.js'

const RUN_FILE = 'run.json'

/**
 * The facts of a run that workers need. The file contains no header values and no notification: each machine
 * has its own credentials.
 */
const SharedRunFacts = z.object({
  run: z.string(),
  asOf: z.number(),
  accept: z.array(z.enum(refusalCodes)),
  settings: Settings,
  /** Names of the headers in the settings of the driver. */
  headers: z.array(z.string()),
})
export type SharedRunFacts = Readonly<z.output<typeof SharedRunFacts>>

export const writeRunFile = (
  { settings, ...run }: Omit<SharedRunFacts, 'headers'>,
  blobs: BlobStore,
): Promise<void> => {
  const { notify: _notify, notifySecret: _secret, ...shared } = settings
  const facts: SharedRunFacts = {
    ...run,
    settings: withHeaders(shared, { headers: {}, hosts: {} }),
    headers: listHeaderNames(settings),
  }
  return blobs.write(`${run.run}/${RUN_FILE}`, Buffer.from(`${JSON.stringify(facts, null, 2)}\n`), 0o600)
}

export type OwnHeaders = Pick<Settings, 'headers' | 'hosts'>

/** Such as `authorization`, or `news: authorization` for those of one host. */
const listHeaderNames = ({ headers, hosts }: OwnHeaders): string[] =>
  Object.keys(headers).concat(
    Object.entries(hosts).flatMap(([host, own]) =>
      Object.keys(own.headers).map((name) => `${host}: ${name}`),
    ),
  )

const withHeaders = (settings: Settings, { headers, hosts }: OwnHeaders): Settings => ({
  ...settings,
  headers,
  hosts: Object.fromEntries(
    Object.entries(settings.hosts).map(
      ([host, own]) => [host, { ...own, headers: hosts[host]?.headers ?? {} }] as const,
    ),
  ),
})

/** The edition of a missing run. */
export const NO_EDITION = 0

/**
 * The edition changes when another driver resumes the run: its settings, such as the URLs of the provider,
 * may differ.
 */
export const readEdition = async (run: string, blobs: BlobStore): Promise<number> => {
  // The run may have been removed. If the file cannot be read for another reason, reading it as a whole
  // reports that.
  const facts = await disk.stat(join(blobs.toFolder(run), RUN_FILE)).catch(ignoreError(`look up run ${run}`))
  return facts?.mtimeMs ?? NO_EDITION
}

/**
 * Reads the facts of a run, with the headers of this machine.
 * @throws UsageError if the run is not in the shared folder, or this machine lacks a header
 */
export const readRunFile = async (
  run: string,
  blobs: BlobStore,
  own: OwnHeaders,
): Promise<SharedRunFacts> => {
  const text = await blobs.read(`${run}/${RUN_FILE}`).catch((error: unknown) => {
    throw new UsageError(
      `run ${run} is not in ${blobs.toFolder('')}, which must be the shared folder of the driver: ${(error as Error).message}`,
      { code: 'unknown-run', cause: error },
    )
  })
  const { data: facts } = SharedRunFacts.safeParse(JSON.parse(text.toString()))
  if (facts === undefined)
    throw new UsageError(
      `the driver of run ${run} is of another build than this worker; install the same on both`,
    )
  const known = listHeaderNames(own).map((name) => name.toLowerCase())
  const missing = facts.headers.filter((name) => !known.includes(name.toLowerCase()))
  if (missing.length > 0)
    throw new UsageError(
      `this machine lacks headers of the run: ${missing.join(', ')}. Set SCRIPSTREAM_HEADERS, or hosts, here too`,
    )
  return { ...facts, settings: withHeaders(facts.settings, own) }
}

const EARLIER_FOLDER = 'earlier'
const MAX_PARALLEL_FILES = 32

/** The folder in which workers read the outputs of earlier runs. */
export const toEarlierFolder = (runFolder: string): string => join(runFolder, EARLIER_FOLDER)

/**
 * The outputs that the items of a run may read: all outputs of active streams, and single-file outputs of the
 * others.
 */
export const listReadableOutputs = (plan: readonly PlannedStream[], exchange: string): readonly string[] =>
  plan.flatMap((planned) =>
    listOutputPatterns(planned, exchange).filter(
      (file) => planned.state === 'waiting' || !file.includes('*'),
    ),
  )

/** The outputs of a stream, with `*` for the names of items. */
export const listOutputPatterns = ({ stream }: PlannedStream, exchange: string): readonly string[] =>
  stream.outputs.map((output) => toFilePath(output, exchange, { fileName: '*' }))

/**
 * Shares stored outputs with workers: as hard links if the shared folder is on the same disk, else as copies.
 * Outputs are always replaced atomically, so a linked file never changes. `*` matches any name.
 */
export const shareFiles = async (out: string, files: readonly string[], runFolder: string): Promise<void> => {
  const names = await Promise.all([REPORT_FILE, ...files].map((file) => listOutputFiles(out, file)))
  const all = names.flat()
  for (let from = 0; from < all.length; from += MAX_PARALLEL_FILES)
    await Promise.all(
      all
        .slice(from, from + MAX_PARALLEL_FILES)
        .map((file) => shareFile(join(out, file), join(toEarlierFolder(runFolder), file))),
    )
}

/** Ignores a file that was removed meanwhile. */
const shareFile = async (from: string, to: string): Promise<void> => {
  const share = () =>
    disk.link(from, to).catch((error: unknown) => {
      if (getErrorCode(error) === 'ENOENT') throw error
      return replaceSharedFile(from, to)
    })
  await share()
    .catch(async (error: unknown) => {
      ignoreMissing(error)
      await disk.mkdir(dirname(to), { recursive: true })
      await share()
    })
    .catch(ignoreMissing)
}

/** Replaces a file of an earlier driver; copies it if the folders are on different disks. */
const replaceSharedFile = async (from: string, to: string): Promise<void> => {
  const temporary = join(dirname(to), `.${randomUUID()}.tmp`)
  try {
    await disk.link(from, temporary).catch(() => copyFileWithTimes(from, temporary))
    await disk.rename(temporary, to)
  } finally {
    // `rename` does nothing if both names are links to the same file.
    await disk.rm(temporary, { force: true })
  }
}

/** Copies a file with its modification time, which states when its data was fetched. */
const copyFileWithTimes = async (from: string, to: string): Promise<void> => {
  await disk.copyFile(from, to)
  const { atime, mtime } = await disk.stat(from)
  await disk.utimes(to, atime, mtime)
}
