import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { refusalCodes } from '../market/never-worse.js'
import { UsageError } from '../model/errors.js'
import { Settings } from '../model/settings.js'
import type { BlobStore } from './blobs.js'

const RUN_FILE = 'run.json'

/** The facts of a run that workers need. The file contains no header values: each machine has its own credentials. */
const RunFacts = z.object({
  run: z.string(),
  asOf: z.number(),
  accept: z.array(z.enum(refusalCodes)),
  settings: Settings,
  /** Names of the headers in the settings of the driver. */
  headers: z.array(z.string()),
})
export type RunFacts = Readonly<z.output<typeof RunFacts>>

interface RunDescription extends Pick<RunFacts, 'run' | 'asOf' | 'accept' | 'settings'> {}

export const writeRunFile = ({ settings, ...run }: RunDescription, blobs: BlobStore): Promise<void> => {
  const facts: RunFacts = { ...run, settings: { ...settings, headers: {} }, headers: Object.keys(settings.headers) }
  return blobs.write(`${run.run}/${RUN_FILE}`, Buffer.from(`${JSON.stringify(facts, null, 2)}\n`), 0o600)
}

/** The edition of a missing run. */
export const NO_EDITION = 0

/** The edition changes when another driver resumes the run: its settings, such as the URLs of the provider, may differ. */
export const readEdition = async (run: string, blobs: BlobStore): Promise<number> =>
  (await stat(join(blobs.toFolder(run), RUN_FILE)).catch(() => undefined))?.mtimeMs ?? NO_EDITION

/**
 * Reads the facts of a run, with the headers of this machine.
 * @throws UsageError if the run is not in the shared folder, or this machine lacks a header
 */
export const readRunFile = async (run: string, blobs: BlobStore, headers: Settings['headers']): Promise<RunFacts> => {
  const text = await blobs.read(`${run}/${RUN_FILE}`).catch((error: unknown) => {
    throw new UsageError(
      `run ${run} is not in ${blobs.toFolder('')}: ${(error as Error).message}. Set --blobs to the shared folder of the driver`,
    )
  })
  const facts = RunFacts.parse(JSON.parse(text.toString()))
  const own = Object.keys(headers).map((name) => name.toLowerCase())
  const missing = facts.headers.filter((name) => !own.includes(name.toLowerCase()))
  if (missing.length > 0)
    throw new UsageError(`this machine lacks headers of the run: ${missing.join(', ')}. Set SCRIPSTREAM_HEADERS here too`)
  return { ...facts, settings: { ...facts.settings, headers } }
}
