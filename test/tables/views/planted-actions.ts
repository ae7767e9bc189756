import type { Random } from '../../../src/model/market.js'
import { createRandom } from '../../../src/simulator/random.js'

/** Twelve sessions, with weekends between them. */
export const SESSIONS = Array.from({ length: 18 }, (_, place) => place + 19)
  .map((day) => new Date(Date.UTC(2026, 0, day)))
  .filter((day) => day.getUTCDay() % 6 !== 0)
  .map((day) => day.toISOString().slice(0, 10))

/** An action as the lists have it. */
export type ListedAction = readonly [type: string, day: string, note: string]

/** What became of an action that is listed. */
type Fate = 'applied' | 'late' | 'never' | 'moved' | 'doubled' | 'foreign'

type Terms = readonly [type: string, note: string, factor: number]

const KINDS: readonly [Terms, ...Terms[]] = [
  ['SPLIT', '2:10', 5],
  ['SPLIT', '1:10', 10],
  ['SUB-DIVISION', 'From Rs 2/- Per Share To Re.1/- Per Share', 2],
  ['SPLIT', '10:1', 0.1],
  ['CONSOLIDATION', '100:1', 0.01],
  ['CONSOLIDATION', '1:20', 0.05],
  ['BONUS', '1:1', 2],
  ['BONUS', '2:1', 3],
  ['BONUS', '4:1', 5],
  ['BONUS', '1:2', 1.5],
]

const shift = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10)

/** Terms in an unusual order, which only a jump in the candles can tell. */
const UNUSUAL: readonly Terms[] = [
  ['SPLIT', '10:2', 5],
  ['BONUS', '3:1', 3],
  ['BONUS', '1:3', 4],
]

/** One stock: its candles as stored, what the lists say, and what the tables must make of it. */
export const plantActions = (set: number) => {
  const random = createRandom(48, 'planted', set)
  const { listed, events, isUnseen, fates } = drawActions(random)
  const productFrom = (place: number, isCounted: (event: Event) => boolean = () => true): number =>
    events
      .filter((event) => event.place > place && isCounted(event))
      .reduce((all, { factor }) => all * factor, 1)
  const dividends = drawDividends(random)
  const more = createRandom(48, 'more', set)
  const [first] = dividends
  const bonusOn = SESSIONS.indexOf(listed.find(([type]) => type === 'BONUS')?.[1] ?? '')
  if (first !== undefined && bonusOn > 0 && more.chance(0.5)) first.place = bonusOn
  const unknown = drawUnknown(createRandom(48, 'unknown', set), listed)
  listed.push(...unknown.listed)
  const prices = drawPrices(random, dividends, unknown)
  for (const { place, amounts, fate } of dividends)
    amounts.forEach((amount, index) => {
      const day = SESSIONS[place] as string
      const rupees = amount * productFrom(place)
      const form = more.pick(['number', 'rupees', 'percent'] as const)
      // Of the face value of that day: a later split changes it, a bonus does not.
      const percent = (rupees / FACE_VALUE / productFrom(place, ({ isBonus }) => !isBonus)) * 100
      const isPercent = form === 'percent' && fate !== 'moved'
      const text = `Rs ${formatRupees(rupees)} Per Share`
      const number = form === 'rupees' ? text : String(Number(rupees.toPrecision(12)))
      const note = isPercent ? `${formatRupees(percent)}%` : number
      const beside = listed.findIndex(([type, on]) => type === 'BONUS' && on === day)
      const bonus = listed[beside]
      if (form !== 'percent' && fate === 'paid' && bonus !== undefined && amounts.length === 1) {
        listed[beside] = ['BONUS & DIVIDEND', day, `Bonus ${bonus[2]}/Dividend - ${text}`]
        fates.push('dividend in the text of a bonus')
        return
      }
      if (isPercent) fates.push('dividend in percent')
      const type = `${['INTERIM', 'SPECIAL', 'FINAL'][index]} DIVIDEND`
      listed.push([type, day, note])
      if (fate === 'doubled') listed.push([type, day, note])
      if (fate === 'moved') listed.push([type, shift(day, -random.int(5, 25)), note])
    })
  return {
    listed,
    upcoming: drawUpcoming(more, listed),
    isUnseen,
    crosses: unknown.listed[0]?.[1] ?? null,
    isBeside: unknown.isBeside,
    fates: [...fates, ...dividends.map(({ fate }) => `dividend ${fate}`), ...unknown.fates],
    rows: prices.map(({ open, close }, place) => {
      const stored = productFrom(place, ({ isApplied }) => !isApplied)
      const total = dividends.filter((one) => one.place > place).reduce((all, one) => all * one.factor, 1)
      return {
        day: SESSIONS[place] as string,
        open: open * stored,
        stored: close * stored,
        close,
        first: close * productFrom(place),
        total: close / total,
      }
    }),
  }
}

interface Event {
  readonly place: number
  readonly factor: number
  readonly isApplied: boolean
  readonly isBonus: boolean
}

/** Rupees, of every stock. */
export const FACE_VALUE = 10

const formatRupees = (value: number): string => value.toFixed(12)

type Coming = readonly [type: string, note: string]

const COMING: readonly [Coming, ...Coming[]] = [
  ['SPLIT', '1:4'],
  ['BONUS', '7:1'],
  ['CONSOLIDATION', '30:1'],
  ['DEMERGER', ''],
  ['FINAL DIVIDEND', '50'],
]

/** An action to come, which changes nothing yet. One of the same terms would be one that moved. */
const drawUpcoming = (random: Random, listed: readonly ListedAction[]): readonly ListedAction[] => {
  const [type, note] = random.pick(COMING)
  const isTaken = listed.some(([one]) => one === type || (type === 'DEMERGER' && one === 'SPIN OFF'))
  return random.chance(0.5) || isTaken ? [] : [[type, '2026-02-20', note]]
}

const drawActions = (random: Random) => {
  const listed: ListedAction[] = []
  const events: Event[] = []
  const fates: string[] = []
  const count = random.int(0, 4)
  const isOneDay = random.chance(0.5)
  const day = random.int(3, 8)
  // Whether an action happened that the candles do not show is only known from the runs of its day: they
  // fetched the history again.
  const isUnseen = random.chance(0.3)
  for (let place = 0; place < count; place += 1) {
    const on = isOneDay ? day : random.int(3, 8)
    const fate: Fate = random.pick(['applied', 'late', 'never', 'moved', 'doubled', 'foreign'] as const)
    const [type, note, factor] = random.pick(fate === 'late' && count === 1 ? [...KINDS, ...UNUSUAL] : KINDS)
    if (listed.some((one) => one[0] === type && one[2] === note)) continue
    const isApplied = fate === 'applied' || ((fate === 'moved' || fate === 'doubled') && random.chance(0.5))
    if (isUnseen ? isApplied : fate === 'never') continue
    fates.push(`${fate}${isApplied ? ' applied' : ''}${isOneDay ? ' of one day' : ''}`)
    const isMonday = fate === 'late' && on % 5 === 0
    // Listed for the Saturday before.
    const ex = shift(SESSIONS[on] as string, isMonday && random.chance(0.5) ? -2 : 0)
    if (fate === 'foreign')
      listed.push([`${type} ${random.pick(['NCRPS', 'OF PREFERENCE SHARES', 'NCD'])}`, ex, note])
    else listed.push([type, ex, note])
    if (fate === 'moved') listed.push([type, shift(ex, -random.int(5, 25)), note])
    if (fate === 'doubled') listed.push([type, ex, note])
    if (fate !== 'foreign' && fate !== 'never')
      events.push({ place: on, factor, isApplied, isBonus: type === 'BONUS' })
  }
  return { listed, events, isUnseen, fates }
}

/** Dividends of one day, in rupees of today. */
const drawDividends = (random: Random) => {
  if (random.chance(0.4)) return []
  const place = random.int(3, 10)
  const amounts = Array.from({ length: random.int(1, 3) }, () => random.int(1, 4))
  const fate = random.pick(['paid', 'doubled', 'moved'] as const)
  return [{ place, amounts, fate, factor: 1 }]
}

/** A demerger or a rights issue, from whose terms nobody can tell by how much the price falls. */
const drawUnknown = (random: Random, others: readonly ListedAction[]) => {
  if (random.chance(0.6)) return { place: -1, drop: 1, listed: [], fates: [], isBeside: false }
  const near = random.pick([SESSIONS[random.int(3, 8)] as string, ...others.map(([, day]) => day)])
  const place = Math.max(
    3,
    SESSIONS.findIndex((day) => day >= near),
  )
  const type = random.pick(['DEMERGER', 'SPIN OFF', 'RIGHTS', 'RIGHTS ISSUE'])
  const day = SESSIONS[place] as string
  const listed: ListedAction[] = [[type, day, type.startsWith('R') ? '1:4 @ Rs 100' : '']]
  if (random.chance(0.2)) listed.push([type, shift(day, -random.int(5, 25)), ''])
  // Over a weekend and a day, as the tables see it.
  const isBeside = listed.some(([, one]) =>
    others.some(([, other]) => Math.abs(Date.parse(one) - Date.parse(other)) <= 4 * 86_400_000),
  )
  // Some of them the provider has divided by.
  const drop = random.chance(0.3) ? 1 : 1 + random.next() * (type.startsWith('R') ? 0.4 : 2)
  return { place, drop, listed, isBeside, fates: [`${type}${isBeside ? ' beside others' : ''}`] }
}

const drawPrices = (
  random: Random,
  dividends: ReturnType<typeof drawDividends>,
  unknown: ReturnType<typeof drawUnknown>,
) => {
  let close = 100 + random.next() * 900
  return SESSIONS.map((_, place) => {
    let open = (close * (1 + (random.next() - 0.5) * 0.03)) / (place === unknown.place ? unknown.drop : 1)
    for (const one of dividends.filter((dividend) => dividend.place === place)) {
      const sum = one.amounts.reduce((all, amount) => all + amount, 0)
      one.factor = close / (close - sum)
      open -= sum
    }
    close = open * (1 + (random.next() - 0.5) * 0.04)
    return { open, close }
  })
}
