import type { StreamDefinition } from '../src/pipeline/define-stream.js'
import { advancedIndicators } from './advanced-indicators.js'
import { allIndices } from './all-indices.js'
import { allOhlcv } from './all-ohlcv.js'
import { bulkBlockDeals } from './bulk-block-deals.js'
import { circuitStocks } from './circuit-stocks.js'
import { companyFilings } from './company-filings.js'
import { completePriceBands } from './complete-price-bands.js'
import { corporateActions } from './corporate-actions.js'
import { fundamentalData } from './fundamental-data.js'
import { incrementalPriceBands } from './incremental-price-bands.js'
import { indicesOhlcv } from './indices-ohlcv.js'
import { listingDates } from './listing-dates.js'
import { marketNews } from './market-news.js'
import { masterData } from './master-data.js'
import { newAnnouncements } from './new-announcements.js'
import { surveillanceLists } from './surveillance-lists.js'

export * from './advanced-indicators.js'
export * from './all-indices.js'
export * from './all-ohlcv.js'
export * from './bulk-block-deals.js'
export * from './circuit-stocks.js'
export * from './company-filings.js'
export * from './complete-price-bands.js'
export * from './corporate-actions.js'
export * from './fundamental-data.js'
export * from './incremental-price-bands.js'
export * from './indices-ohlcv.js'
export * from './listing-dates.js'
export * from './market-news.js'
export * from './master-data.js'
export * from './new-announcements.js'
export * from './surveillance-lists.js'

/** Every collection script, in the order of lists, reports and tables. A new script needs a line here, an import and an export. */
export const streams = [
  masterData,
  fundamentalData,
  listingDates,
  companyFilings,
  newAnnouncements,
  advancedIndicators,
  marketNews,
  corporateActions,
  surveillanceLists,
  circuitStocks,
  bulkBlockDeals,
  incrementalPriceBands,
  completePriceBands,
  allIndices,
  allOhlcv,
  indicesOhlcv,
] as const satisfies readonly StreamDefinition[]
