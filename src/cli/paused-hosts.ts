import { formatCountdown } from './format.js'
import type { PausedHosts } from './progress-estimator.js'

/** The paused hosts or endpoints, with reason and remaining time; empty if there are none. */
export const pausedHostsText = (pauses: readonly PausedHosts[], now: number, gap: string): string =>
  pauses
    .map((one) => `${one.hosts.join(' and ')}${one.endpoint === undefined ? '' : ` ${one.endpoint}`}: ${formatPause(one, now)}`)
    .join(gap)

const formatPause = ({ why, since, until, giveUpAt }: PausedHosts, now: number): string => {
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
