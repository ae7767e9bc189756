import type { AnyView } from '../view.js'
import { listView } from './list.js'
import { marketView } from './market.js'
import { oneRunView } from './one-run.js'
import { queryView } from './query.js'
import { runView } from './run.js'
import { runsView } from './runs.js'
import { indexView, stockView } from './stock.js'
import { todayView } from './today.js'

/** All views; a new one is one more line here. */
export const views: readonly AnyView[] = [todayView, runView, runsView, oneRunView, marketView, listView, stockView, indexView, queryView]
