import type { Held } from './course.js'
import { countdown } from './format.js'

/** Which hosts, or endpoints of them, are not asked for now, why and how much longer; empty where there are none. */
export const heldText = (held: readonly Held[], now: number, gap: string): string =>
  held.map((one) => `${one.hosts.join(' and ')}${one.endpoint === undefined ? '' : ` ${one.endpoint}`}: ${stateOf(one, now)}`).join(gap)

const stateOf = ({ why, since, until, giveUpAt }: Held, now: number): string => {
  const left = countdown(Math.max(1, until - now))
  switch (why) {
    case 'refuses':
      return `asked us to wait, ${left}`
    case 'pages':
      return `sends pages for data, waiting ${left}`
    case 'down': {
      const giveUp = giveUpAt === undefined ? '' : `, giving up in ${countdown(Math.max(1, giveUpAt - now))}`
      return `away for ${countdown(Math.max(1, now - since))}, next try in ${left}${giveUp}`
    }
  }
}
