import { defineView } from '../view.js'
import type { ScreenerGroup } from './group.js'
import { identity } from './identity.js'
import { indicators, lists } from './lists.js'
import { latest, reaction } from './news.js'
import { history, price } from './price.js'
import { holders, results, valuation } from './results.js'

/** The groups with the name of their common table expression. */
const JOINED: readonly (readonly [name: string, group: ScreenerGroup])[] = [
  ['price', price],
  ['history', history],
  ['indicator', indicators],
  ['results', results],
  ['valuation', valuation],
  ['holders', holders],
  ['reaction', reaction],
  ['lists', lists],
  ['latest', latest],
]
const GROUPS = [identity, ...JOINED.map(([, group]) => group)]

/** One row for each stock with what a screen may ask. */
export const screener = defineView({
  name: 'screener',
  about: 'each stock of the master list on the day of the run, one row each; NULL where the history is too short or the source has nothing',
  needs: GROUPS.flatMap(({ needs }) => needs),
  columns: GROUPS.flatMap(({ columns }) => columns),
  with: GROUPS.flatMap((group) => group.with),
  from: `FROM identity AS m ${JOINED.map(([name, { alias }]) => `LEFT JOIN ${name} AS ${alias} ON ${alias}.isin = m.isin`).join(' ')}`,
})
