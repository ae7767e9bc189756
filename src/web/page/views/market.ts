import { html, nothing, type TemplateResult } from 'lit-html'
import type { DocumentsAnswer, ListsAnswer, MarketAnswer } from '../../../show/answers.js'
import { AS_OF, asOfPath, listsOfDay } from '../parts/as-of.js'
import { fetchJson } from '../parts/fetch-json.js'
import { waitingPanel } from '../parts/panel.js'
import { emptyState, errorState } from '../parts/states.js'
import type { PageContext, View } from '../view.js'
import {
  breadthHead,
  changesPanel,
  circuitsPanel,
  dealsPanel,
  documentsPanel,
  indicesPanel,
  moversPanel,
  newsPanel,
} from './market/panels.js'

/** The parts of the market, which come one after the other: the lists at once, then the prices, then thousands of documents. */
interface MarketParts {
  market?: MarketAnswer
  lists?: ListsAnswer
  documents?: DocumentsAnswer
  failures: { readonly part: string; readonly error: unknown }[]
}

const createMarketView = (): View<MarketParts> => {
  let update = (): void => undefined
  return {
    path: '/market',
    title: () => 'Market',
    enter: (page) => {
      update = page.update
      return () => undefined
    },
    hasDays: true,
    load: async (place, signal) => {
      const parts: MarketParts = { failures: [] }
      const fetchPart = <K extends 'market' | 'lists' | 'documents'>(name: K, path: string): Promise<void> =>
        fetchJson<NonNullable<MarketParts[K]>>(asOfPath(path, place), { signal })
          .then(
            (answer) => {
              Object.assign(parts, { [name]: answer })
            },
            (error: unknown) => {
              if (!signal.aborted) parts.failures.push({ part: name, error })
            },
          )
          .then(() => update())
      const isPast = place.query.has(AS_OF)
      // The lists of a past day are views of their own.
      const first = isPast ? new Promise<void>(() => undefined) : fetchPart('lists', '/api/market/lists')
      const prices = fetchPart('market', '/api/market')
      // Documents take longest, and are the last that one reads.
      void prices.then(() => fetchPart('documents', '/api/market/documents'))
      await Promise.race([first, prices])
      return parts
    },
    isWhole: ({ market, lists, documents }) => [market, lists, documents].every((part) => part !== undefined),
    render: renderMarket,
  }
}

const renderMarket = ({ market, lists, documents, failures }: MarketParts, page: PageContext): TemplateResult => {
  const [failure] = failures
  if (failure !== undefined && market === undefined && lists === undefined) return errorState(failure.error, page.reload)
  if (market?.breadth.listed === 0)
    return emptyState(
      'Nothing is collected here yet',
      html`${market.breadth.about.problem === undefined ? nothing : html`<b>${market.breadth.about.problem}</b>. `}The market needs a list of stocks and their candles. The <a href="/run">run page</a> has the command that fetches them.`,
    )
  const isPast = page.place.query.has(AS_OF)
  return html`
    ${breadthHead(market?.breadth)}
    ${failures.map(({ part, error }) => html`<p class="problem" role="alert">${part}: ${error instanceof Error ? error.message : String(error)}</p>`)}
    <div class="market">
      ${market === undefined ? waitingPanel('Movers', 12) : moversPanel(market, page)}
      ${market === undefined ? waitingPanel('Indices', 12) : indicesPanel(market.indices)}
      ${
        isPast
          ? listsOfDay()
          : html`${lists === undefined ? waitingPanel('At their price limit', 12) : circuitsPanel(lists.circuits)}
      ${documents === undefined ? waitingPanel('Deals', 8) : dealsPanel(documents.deals)}
      ${lists === undefined ? waitingPanel('Surveillance', 8) : changesPanel('Surveillance', lists.surveillance, { path: '/list/surveillance', nothingChanged: 'No stock entered or left it.' })}
      ${lists === undefined ? waitingPanel('Price bands', 8) : changesPanel('Price bands', lists.bands, { path: '/list/bands', nothingChanged: 'No band changed.' })}`
      }
      ${documents === undefined ? waitingPanel('News', 12) : newsPanel(documents)}
      ${documents === undefined ? waitingPanel('Filings', 12) : documentsPanel('Filings', documents.filings, 'No filing of that day.')}
      ${documents === undefined ? waitingPanel('Announcements', 12) : documentsPanel('Announcements', documents.announcements, 'No announcement of that day.')}
    </div>
  `
}

export const marketView = createMarketView()
