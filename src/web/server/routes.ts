import type { RunLogEntry } from '../../model/run-log.js'
import { readRunRecords } from '../../storage/run-records.js'
import type { RunList } from '../api/runs.js'
import { readFolderState } from './folder-state.js'
import type { Route } from './route.js'
import { describeRun, toRunRow } from './runs.js'

/** Everything that the server answers with data. A route of a new view is one more line here. */
export const routes: readonly Route[] = [
  { path: '/api/state', answer: (_, served) => readFolderState(served, Date.now()) },
  { path: '/api/changes', answer: (_, { readChanges }) => readChanges() },
  { path: '/api/live', respond: (response, { lastEventId }, { live }) => live.open(response, lastEventId) },
  {
    path: '/api/runs',
    answer: async (_, { out }): Promise<RunList> => {
      const { runs, damage } = await readRunRecords(out)
      return { runs: runs.map(toRunRow).reverse(), damage }
    },
  },
  {
    path: '/api/runs/:id/changes',
    answer: async ({ params }, { out, readRunChanges }) => readRunChanges(await readRuns(out), params.id ?? ''),
  },
  { path: '/api/runs/:id/checks', answer: async ({ params }, { out, checks }) => checks.read(await readRuns(out), params.id ?? '') },
  { path: '/api/runs/:id', answer: async ({ params }, { out }) => describeRun(await readRuns(out), params.id ?? '') },
]

const readRuns = async (out: string): Promise<readonly RunLogEntry[]> => (await readRunRecords(out)).runs
