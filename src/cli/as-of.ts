import { Option } from 'commander'
import { z } from 'zod'
import { UsageError } from '../model/errors.js'
import type { AsOfSession } from '../model/report.js'
import { formatMinute, isAfterClock, toDayEnd } from '../model/trading-day.js'
import type { ProcessIo } from './dependencies.js'
import { DayText, type Flag, quoteValue } from './options.js'
import { formatQuantity } from './terminal/text.js'

const InstantText = z.iso.datetime({ offset: true })

/** The instant (epoch milliseconds) of `--as-of`: a day means its end in India. */
export const readAsOf = (text: string): number => {
  if (DayText.safeParse(text).success) return toDayEnd(text)
  const instant = InstantText.safeParse(text).success ? Date.parse(text) : Number.NaN
  if (Number.isNaN(instant)) {
    throw new UsageError(`--as-of: invalid date ${quoteValue(text)}; use YYYY-MM-DD, or a timestamp such as 2026-02-12T20:00:00+05:30`)
  }
  return instant
}

/** `--as-of` of the commands that send requests, or plan them. Refuses what is later than the clock. */
export const asOfOption = ({ scheduler }: Pick<ProcessIo, 'scheduler'>): Flag<number | undefined> =>
  new Option('--as-of <iso>', 'as of this day (its end in India) or time (with offset)').argParser((text) => {
    const [instant, now] = [readAsOf(text), scheduler.now()]
    if (!isAfterClock(instant, now)) return instant
    throw new UsageError(
      `--as-of: ${text} is later than the clock of this machine, ${formatMinute(now)}; name today or an earlier day, or leave out --as-of`,
    )
  })

const RECORDED: Readonly<Record<AsOfSession['recorded'], string>> = {
  following: ' and are not recorded (--record-late records them, marked as late)',
  all: ' and are recorded, marked as late',
  none: '',
}

/** Which outputs of a run are of the session of `--as-of`, which are of today, and what is recorded, in one line. */
export const describeAsOfSession = ({ session, due, following, others, recorded }: AsOfSession): string => {
  const own = following.length === 0 ? 'no output is' : `${following.join(', ')} ${following.length === 1 ? 'is' : 'are'}`
  const rest =
    others.length === 1 ? others[0] : `${following.length === 0 ? 'all' : 'the other'} ${formatQuantity(others.length, 'stream')}`
  return `As of ${session}: ${own} of that session; the outputs of ${rest} are of today (session ${due})${RECORDED[recorded]}.`
}
