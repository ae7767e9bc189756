import { emptyState } from '../parts/states.js'
import type { View } from '../view.js'

export const indexView: View<undefined> = {
  path: '/index/:name',
  title: ({ params }) => params.name ?? 'Index',
  load: () => Promise.resolve(undefined),
  render: () => emptyState('Nothing here yet', 'This view is not built.'),
}
