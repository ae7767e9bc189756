/**
 * A whole run: its events as they happen, then its report. The files are in memory; without `storage` they
 * are in the folder `out`.
 */
import { lastValueFrom, tap } from 'rxjs'
import { createCollector, type RunEvent, type RunReport, type SettingsInput } from 'scripstream'
import { type MemoryFiles, memory } from 'scripstream/sinks'

/**
 * Runs every stream but the candles. Items that are missing do not reject the promise: the report names them
 * with their reasons.
 */
export const collectMarket = async (
  settings: SettingsInput,
  print: (line: string) => void,
): Promise<MemoryFiles> => {
  const files: MemoryFiles = new Map()
  const collector = createCollector({ settings: { ...settings, fetchOhlcv: false }, storage: memory(files) })
  // The last event of a run has the report; `collector.run()` emits it alone.
  const last = await lastValueFrom(collector.events().pipe(tap((event) => printEvent(event, print))))
  if (last.type === 'run-finished') printReport(last.report, print)
  return files
}

const printEvent = (event: RunEvent, print: (line: string) => void): void => {
  if (event.type === 'master-read') print(`${event.stocks} stocks`)
  if (event.type === 'host-paused') print(`waiting for ${event.hosts.join(', ')}`)
  if (event.type === 'stream-finished') print(`${event.stream}: ${event.outcome}`)
}

const printReport = ({ outcome, scripts }: RunReport, print: (line: string) => void): void => {
  const problems = Object.values(scripts).flatMap((script) => script.problems)
  for (const { item, reason } of problems) print(`${item}: ${reason}`)
  print(outcome)
}
