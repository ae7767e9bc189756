import { firstValueFrom, map, mergeMap, type Observable } from 'rxjs'
import { createCollector, type SettingsInput } from 'scripstream'
import { serveSimulator } from 'scripstream/simulator'
import { type MemoryFiles, memory } from 'scripstream/sinks'
import { streams } from 'scripstream/streams'

/** News of a few stocks, item by item, as they arrive. */
const newsOf = (symbols: readonly string[], settings: SettingsInput): Observable<string> =>
  createCollector({ settings })
    .stream('market-news', { symbols })
    .pipe(
      mergeMap(({ item, rows }) => rows.map((news) => ({ symbol: item.key, ...news }))),
      map(({ symbol, Title, Sentiment }) => `${symbol} ${Sentiment}: ${Title}`),
    )

/** A watchlist app on the simulator; with a real provider, `settings` is `{ urls: { analytics: 'https://…', … } }`. */
export const watchlist = async (print: (line: string) => void): Promise<void> => {
  const provider = await serveSimulator({ endpoints: streams.flatMap(({ endpoints }) => endpoints), stocks: 20 })
  const watching = newsOf(['M&M', '360ONE'], provider.settings).subscribe({ next: print, error: (error: Error) => print(error.message) })

  const files: MemoryFiles = new Map()
  const collector = createCollector({ settings: { ...provider.settings, fetchOhlcv: false }, storage: memory(files) })
  const report = await firstValueFrom(collector.run())
  print(`${report.outcome}: ${files.size} files in memory`)

  watching.unsubscribe() // aborts whatever is still in flight
  await provider.close()
}
