import type { ListsAnswer, MarketAnswer } from '../../web/api/market.js'
import { createMarketReader, readMarketLists } from '../../web/data/market.js'
import { type DataSource, openMarketFolder } from '../../web/data/market-folder.js'

/** The market as the page shows it. Loaded only by this command. */
export const readMarket = async (source: DataSource): Promise<MarketAnswer & ListsAnswer> => {
  const folder = openMarketFolder(source)
  return { ...(await createMarketReader(folder)()), ...(await readMarketLists(folder)) }
}
