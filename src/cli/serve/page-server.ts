import { UsageError } from '../../model/errors.js'
import type { Settings } from '../../model/settings.js'
import { getErrorCode } from '../../storage/file-system.js'
import { readHolidays } from '../../storage/session-days.js'
import type { HubOptions, LiveSource } from '../../web/server/live-hub.js'
import type { PageServer } from '../../web/server/serve.js'
import type { Dependencies } from '../dependencies.js'

interface PageChoice extends Pick<HubOptions, 'wall'> {
  readonly settings: Settings
  readonly port: number | undefined
  /** The run of this process, if there is one. */
  readonly live?: LiveSource
}

/** Starts the server of the page; its code is loaded only then. */
export const openPage = async (
  { settings, port, live, wall }: PageChoice,
  { streams, version, pageFolder }: Dependencies,
): Promise<PageServer> => {
  const { out, exchange, workers } = settings
  const { servePage } = await import('../../web/server/serve.js')
  const { createAnswerProcesses } = await import('../answer-process.js')
  const holidays = readHolidays(settings.holidays)
  const answers = createAnswerProcesses(settings)
  return servePage({ out, exchange, workers, holidays, streams, version, pageFolder, port, live, wall, ...answers })
}

/** Says which option chooses another port. */
export const toPortError = (error: unknown, flag: string, port: number | undefined): unknown => {
  const code = getErrorCode(error)
  if (code === 'EADDRINUSE') return new UsageError(`${flag}: port ${port} is in use; choose another one, or 0 for any free port`)
  return code === 'EACCES' ? new UsageError(`${flag}: port ${port} is not allowed; choose 1024 or higher`) : error
}
