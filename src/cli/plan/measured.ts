/** How large what a stream leaves was found to be: bytes for each of its items, for each stock, or in all. */
export interface Size {
  readonly bytes: number
  readonly per: 'item' | 'stock' | 'run'
}

/** From a captured evening of the whole market: 2,775 stocks and 194 indices on 2026-02-12. */
export const MEASURED: Readonly<Record<string, Size>> = {
  'master-data': { bytes: 400, per: 'stock' },
  'fundamental-data': { bytes: 12_600, per: 'item' },
  'listing-dates': { bytes: 158_000, per: 'run' },
  'company-filings': { bytes: 85_000, per: 'item' },
  'new-announcements': { bytes: 40, per: 'item' },
  'advanced-indicators': { bytes: 2_900, per: 'item' },
  'market-news': { bytes: 13_300, per: 'item' },
  'corporate-actions': { bytes: 153_000, per: 'run' },
  'surveillance-lists': { bytes: 17_000, per: 'run' },
  'circuit-stocks': { bytes: 25_000, per: 'run' },
  'bulk-block-deals': { bytes: 700_000, per: 'run' },
  'incremental-price-bands': { bytes: 700, per: 'run' },
  'complete-price-bands': { bytes: 344_000, per: 'run' },
  'all-indices': { bytes: 33_000, per: 'run' },
  'all-ohlcv': { bytes: 98_700, per: 'item' },
  // Candles of indices were not captured: taken as those of a stock.
  'indices-ohlcv': { bytes: 98_700, per: 'item' },
}

/** Pages that follow other pages cannot be told from outside: so many requests it took then (2,300 deals, 50 to a page). */
export const MEASURED_REQUESTS: Readonly<Record<string, number>> = { 'bulk-block-deals': 49 }

/** How many items a stream offers where no earlier run left them. */
export const USUAL_ITEMS: Readonly<Record<string, number>> = { 'master-data': 2_775, 'all-indices': 194 }
