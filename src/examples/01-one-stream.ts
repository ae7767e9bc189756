/**
 * One stream in an app, with back-pressure: the next request waits until the rows of the item are inserted.
 */
import { map, type Observable } from 'rxjs'
import { createCollector, type SettingsInput } from 'scripstream'
import type { NewsItem } from 'scripstream/streams'

/** Inserts the news of a stock into the database of the app. */
export type Insert = (symbol: string, news: readonly NewsItem[]) => Promise<void>

/**
 * Emits a line for each stock and completes after the last one; unsubscribing aborts its requests. A stock
 * whose news could not be fetched has no rows, and its status says why. `settings` is the content of a
 * `scripstream.config.json`.
 */
export const insertNews = (
  settings: SettingsInput,
  symbols: readonly string[],
  insert: Insert,
): Observable<string> =>
  createCollector({ settings })
    .stream('market-news', { symbols, consume: ({ item, rows }) => insert(item.key, [...rows]) })
    .pipe(map(({ item, status, rows }) => `${item.key} ${status}: ${[...rows].length} news`))
