import type { HoldReason } from '../model/event.js'
import type { Held } from './course.js'
import { countdown } from './format.js'

const whys: Readonly<Record<HoldReason, string>> = {
  refuses: 'asked us to wait,',
  pages: 'sends pages for data, waiting',
  down: 'down, next try in',
}

/** Which hosts are not asked for now, why and how much longer; empty where there are none. */
export const heldText = (held: readonly Held[], now: number, gap: string): string =>
  held.map(({ hosts, why, until }) => `${hosts.join(' and ')}: ${whys[why]} ${countdown(Math.max(1, until - now))}`).join(gap)
