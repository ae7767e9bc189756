import { html } from 'lit-html'
import type { FolderState } from '../../api/state.js'
import { fetchJson } from '../parts/fetch-json.js'
import type { View } from '../view.js'

/** The run: live while one is active, else how the last one ended. */
export const runView: View<FolderState> = {
  path: '/',
  title: () => 'Run',
  load: (_, signal) => fetchJson('/api/state', { signal }),
  render: ({ folder }) => html`<h1>${folder}</h1>`,
}
