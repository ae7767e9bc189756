/** The measured size of the files of a stream: bytes per item, per stock, or in total. */
export interface MeasuredSize {
  readonly bytes: number
  readonly per: 'item' | 'stock' | 'run'
}

/** From a captured daily run of the whole market: 2,775 stocks and 194 indices on 2026-02-12. */
export const MEASURED_SIZES: Readonly<Record<string, MeasuredSize>> = {
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
  // Index candles were not captured: assumed as large as those of a stock.
  'indices-ohlcv': { bytes: 98_700, per: 'item' },
}

/** The number of pages is not known in advance: requests in that run (2,300 deals, 50 per page). */
export const MEASURED_REQUESTS: Readonly<Record<string, number>> = { 'bulk-block-deals': 49 }

/** Assumed number of items if no earlier run stored them. */
export const DEFAULT_ITEM_COUNTS: Readonly<Record<string, number>> = { 'master-data': 2_775, 'all-indices': 194 }
