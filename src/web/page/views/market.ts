import { emptyState } from '../parts/states.js'
import type { View } from '../view.js'

export const marketView: View<undefined> = {
  path: '/market',
  title: () => 'Market',
  load: () => Promise.resolve(undefined),
  render: () => emptyState('Nothing here yet', 'This view is not built.'),
}
