import type { AnyView } from './view.js'
import { indexView } from './views/index-view.js'
import { marketView } from './views/market.js'
import { oneRunView } from './views/one-run.js'
import { queryView } from './views/query.js'
import { runView } from './views/run.js'
import { runsView } from './views/runs.js'
import { stockView } from './views/stock.js'

/** All views; a new one is one more line here. */
export const views: readonly AnyView[] = [runView, runsView, oneRunView, marketView, stockView, indexView, queryView]
