import type { RecordedDay } from '../../api/state.js'
import { fetchJson } from './fetch-json.js'

/** The next try after the server gave no list of days. */
const ASK_AGAIN_MS = 5_000

/**
 * The recorded days, the newest first; asked once for each report. Without an answer there is nothing to
 * choose from.
 */
let days: readonly RecordedDay[] = []
let asked: Promise<void> | undefined
const loadDays = (): Promise<void> => {
  asked ??= fetchJson<readonly RecordedDay[]>('/api/days').then(
    (found) => {
      days = found
    },
    () => {
      setTimeout(forgetDays, ASK_AGAIN_MS)
    },
  )
  return asked
}
const forgetDays = (): void => {
  asked = undefined
}

let known: number | null | undefined

/** A run that has ended may have recorded a day: the days are asked again once the report is another one. */
export const followDays = (report: number | null): void => {
  if (known !== undefined && known !== report) forgetDays()
  known = report
}

/** The run that recorded a day. */
export const runOf = async (day: string): Promise<string> => {
  await loadDays()
  return days.find((one) => one.day === day)?.run ?? ''
}

/** The days that are known. `update` is called once there are others. */
export const findDays = (update: () => void): readonly RecordedDay[] => {
  if (asked === undefined) void loadDays().then(update)
  return days
}

/** The days that are known, without asking. */
export const listKnownDays = (): readonly RecordedDay[] => days
