import type { ListsAnswer, MarketAnswer } from '../../show/answers.js'
import { type DataSource, openMarketFolder } from '../../show/folder.js'
import { readMarketLists } from '../../show/lists.js'
import { readMarket as readPrices } from '../../show/market.js'

/** The market as the page shows it. Loaded only by this command. */
export const readMarket = async (source: DataSource): Promise<MarketAnswer & ListsAnswer> => {
  const folder = openMarketFolder(source)
  return { ...(await readPrices(folder)), ...(await readMarketLists(folder)) }
}
