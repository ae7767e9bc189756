import type { Held } from './course.js'
import { formatCountdown } from './format.js'

/** The paused hosts or endpoints, with reason and remaining time; empty if there are none. */
export const heldText = (pauses: readonly Held[], now: number, gap: string): string =>
  pauses.map((one) => `${one.hosts.join(' and ')}${one.endpoint === undefined ? '' : ` ${one.endpoint}`}: ${stateOf(one, now)}`).join(gap)

const stateOf = ({ why, since, until, giveUpAt }: Held, now: number): string => {
  const left = formatCountdown(Math.max(1, until - now))
  switch (why) {
    case 'refuses':
      return `rate limited, wait ${left}`
    case 'pages':
      return `sends HTML instead of data, wait ${left}`
    case 'down': {
      const giveUp = giveUpAt === undefined ? '' : `, giving up in ${formatCountdown(Math.max(1, giveUpAt - now))}`
      return `down for ${formatCountdown(Math.max(1, now - since))}, next try in ${left}${giveUp}`
    }
  }
}
