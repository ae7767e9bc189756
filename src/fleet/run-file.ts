import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { refusalCodes } from '../market/never-worse.js'
import { UsageError } from '../model/errors.js'
import { Settings } from '../model/settings.js'
import type { Blobs } from './blobs.js'

const FILE = 'run.json'

/** What workers must know of a run. It holds no header: what identifies the user to a provider, each machine has of its own. */
const RunFacts = z.object({
  run: z.string(),
  asOf: z.number(),
  accept: z.array(z.enum(refusalCodes)),
  settings: Settings,
  /** Names of the headers that the driver would send. */
  headers: z.array(z.string()),
})
export type RunFacts = Readonly<z.output<typeof RunFacts>>

interface Driving extends Pick<RunFacts, 'run' | 'asOf' | 'accept' | 'settings'> {}

export const tellRun = ({ settings, ...run }: Driving, blobs: Blobs): Promise<void> => {
  const facts: RunFacts = { ...run, settings: { ...settings, headers: {} }, headers: Object.keys(settings.headers) }
  return blobs.write(`${run.run}/${FILE}`, Buffer.from(`${JSON.stringify(facts, null, 2)}\n`), 0o600)
}

/** Of a run that is not there. */
export const NO_EDITION = 0

/** Tells apart what a driver said of a run, and what the next one says that goes on with it: its provider may be elsewhere. */
export const editionOf = async (run: string, blobs: Blobs): Promise<number> =>
  (await stat(join(blobs.folderOf(run), FILE)).catch(() => undefined))?.mtimeMs ?? NO_EDITION

/** The run that an item belongs to, with this machine's own headers. Throws a `UsageError` where this machine cannot work for it. */
export const readRun = async (run: string, blobs: Blobs, headers: Settings['headers']): Promise<RunFacts> => {
  const text = await blobs.read(`${run}/${FILE}`).catch((error: unknown) => {
    throw new UsageError(
      `run ${run} is not in ${blobs.folderOf('')}: ${(error as Error).message}. --blobs must be the folder that the driver has, shared by all machines`,
    )
  })
  const facts = RunFacts.parse(JSON.parse(text.toString()))
  const own = Object.keys(headers).map((name) => name.toLowerCase())
  const lacking = facts.headers.filter((name) => !own.includes(name.toLowerCase()))
  if (lacking.length > 0)
    throw new UsageError(
      `the run is made with headers that this machine does not have: ${lacking.join(', ')}. Set SCRIPSTREAM_HEADERS here too`,
    )
  return { ...facts, settings: { ...facts.settings, headers } }
}
