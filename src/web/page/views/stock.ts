import { emptyState } from '../parts/states.js'
import type { View } from '../view.js'

export const stockView: View<undefined> = {
  path: '/stock/:symbol',
  title: () => 'Stock',
  load: () => Promise.resolve(undefined),
  render: () => emptyState('Nothing here yet', 'This view is not built.'),
}
