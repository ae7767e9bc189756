import { defineView, type View } from '../view.js'
import type { GroupName, ScreenerColumn, ScreenerGroup } from './group.js'
import { identity } from './identity.js'
import { indicators, lists } from './lists.js'
import { latest, reaction } from './news.js'
import { history, price } from './price.js'
import { holders, results, valuation } from './results.js'

/** The groups with the name of their common table expression. */
const JOINED: readonly (readonly [name: GroupName, group: ScreenerGroup])[] = [
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

const COLUMNS: readonly Required<ScreenerColumn>[] = [
  ...identity.columns.map((column) => ({ ...column, reads: [] })),
  ...JOINED.flatMap(([name, { columns }]) => columns.map((column) => ({ reads: [name], ...column }))),
]

/** The screener with some of its columns. Other groups are not joined: their files are not read. */
const buildScreener = (columns: readonly Required<ScreenerColumn>[]): View => {
  const joined = JOINED.filter(([name]) => columns.some(({ reads }) => reads.includes(name)))
  const groups = [identity, ...joined.map(([, group]) => group)]
  return defineView({
    name: 'screener',
    about:
      'each stock of the master list on the day of the run, one row each; NULL where the history is too short or the source has nothing',
    needs: groups.flatMap(({ needs }) => needs),
    columns,
    with: [...new Set(groups.flatMap((group) => group.with))],
    from: `FROM identity AS m ${joined.map(([name, { alias }]) => `LEFT JOIN ${name} AS ${alias} ON ${alias}.isin = m.isin`).join(' ')}`,
  })
}

/** One row for each stock with what a screen may ask. */
export const screener: View = {
  ...buildScreener(COLUMNS),
  narrow: (isNamed) => buildScreener(COLUMNS.filter(({ name, reads }) => reads.length === 0 || isNamed(name))),
}
