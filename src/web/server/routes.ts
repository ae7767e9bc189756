import { basename } from 'node:path'
import type { FolderState } from '../api/state.js'
import type { Route } from './route.js'

/** Everything that the server answers with data. A route of a new view is one more line here. */
export const routes: readonly Route[] = [
  {
    path: '/api/state',
    answer: (_, { out, version }): FolderState => ({ folder: basename(out), version }),
  },
]
