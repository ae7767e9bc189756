import { quoteText } from '../storage/duckdb.js'

/** Before the symbols of a list that is kept by its reader. */
const OWN_PREFIX = 'mine:'

/** Narrows `screener` to a universe: `F&O`, the members of an index, or `mine:TCS,INFY`; to nothing less for an empty name. */
export const whereUniverse = (universe: string): string => {
  if (universe === '') return ''
  if (universe === 'F&O') return ' WHERE fno = 1'
  if (universe.startsWith(OWN_PREFIX)) return ` WHERE symbol IN (${universe.slice(OWN_PREFIX.length).split(',').map(quoteText).join(', ')})`
  return ` WHERE isin IN (SELECT isin FROM index_spells WHERE until IS NULL AND "index" = ${quoteText(universe)})`
}
