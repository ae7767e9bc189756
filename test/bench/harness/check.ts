import { streams } from '../../../streams/registry.js'
import { isEmpty, isShared, type SharedEndpoint } from '../provider/bodies.js'
import type { ProviderStats } from '../provider/stats.js'
import type { Outputs } from './outputs.js'

const INDICES = 194

/** Errors in the requests that the provider counted: missing, repeated, unknown, or too many in flight. */
export const findWrongRequests = (
  { endpoints, violations }: ProviderStats,
  stocks: number,
): readonly string[] => {
  const counted = Object.entries(endpoints).flatMap(([name, { requests, duplicates, maxInFlight }]) => {
    const wanted = name === 'ohlcv' || isShared(name) ? stocks : name === 'index_ohlcv' ? INDICES : requests
    const workers =
      streams.find((stream) => stream.endpoints.some((endpoint) => endpoint.name === name))?.workers ?? 0
    return [
      ...(requests === wanted ? [] : [`${requests} requests of ${name} instead of ${wanted}`]),
      ...(duplicates === 0 ? [] : [`${duplicates} repeated requests of ${name}`]),
      ...(maxInFlight <= workers ? [] : [`${maxInFlight} requests of ${name} at once instead of ${workers}`]),
    ]
  })
  return [...counted, ...violations]
}

/** Folders with a wrong number of files after a full run. */
export const findWrongFiles = ({ folders }: Outputs, stocks: number): readonly string[] => {
  const some = (endpoint: SharedEndpoint) =>
    Array.from({ length: stocks }, (_, rank) => !isEmpty(endpoint, rank)).filter(Boolean).length
  const wanted: Readonly<Record<string, number>> = {
    company_filings: some('lodr'),
    market_news: some('news'),
    ohlcv_data: stocks,
    'ohlcv_data/indices': INDICES,
  }
  return Object.entries(wanted).flatMap(([folder, files]) =>
    folders[folder] === files ? [] : [`${folders[folder] ?? 0} files in ${folder} instead of ${files}`],
  )
}

export const failOn = (wrong: readonly string[], what: string): void => {
  if (wrong.length > 0) throw new Error(`${what} failed: ${wrong.join('; ')}`)
}

/** Checks that all runs of one configuration write the same bytes and send the same requests. */
export const createSameRunCheck = () => {
  const first = new Map<string, string>()
  return (configuration: string, { hash, files }: Outputs, { endpoints }: ProviderStats): void => {
    const counts = Object.entries(endpoints).map(([name, { requests }]) => `${name} ${requests}`)
    const mark = `${files} files, ${counts.sort().join(', ')}, sha256 ${hash}`
    const expected = first.get(configuration) ?? mark
    if (mark !== expected) throw new Error(`two runs of "${configuration}" differ:\n  ${expected}\n  ${mark}`)
    first.set(configuration, mark)
  }
}
