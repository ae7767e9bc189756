import { emptyState } from '../parts/states.js'
import type { View } from '../view.js'

export const queryView: View<undefined> = {
  path: '/query',
  title: () => 'Query',
  load: () => Promise.resolve(undefined),
  render: () => emptyState('Nothing here yet', 'This view is not built.'),
}
