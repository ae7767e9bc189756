import { emptyState } from '../parts/states.js'
import type { View } from '../view.js'

export const runsView: View<undefined> = {
  path: '/runs',
  title: () => 'Runs',
  load: () => Promise.resolve(undefined),
  render: () => emptyState('Nothing here yet', 'This view is not built.'),
}

export const oneRunView: View<undefined> = {
  path: '/runs/:id',
  title: ({ params }) => `Run ${params.id ?? ''}`,
  load: () => Promise.resolve(undefined),
  render: () => emptyState('Nothing here yet', 'This view is not built.'),
}
