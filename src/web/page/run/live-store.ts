import { applyChange, type LiveChange, type LiveRunState } from '../../api/live.js'
import type { FolderState, LiveSnapshot } from '../../api/state.js'
import { followDays } from '../parts/days.js'
import { fetchJson } from '../parts/fetch-json.js'

/** The active run as the page knows it. */
export interface LiveStore {
  /** Null without an active run; undefined before the first event. */
  readonly run: () => LiveRunState | null | undefined
  /** When the report of the last run was written; null without one, undefined before the first event. */
  readonly report: () => number | null | undefined
  /** How the folder stood when the server ended. */
  readonly last: () => FolderState | undefined
  /** Whether the server cannot be reached at the moment. */
  readonly isLost: () => boolean
  readonly close: () => void
}

/** Reads the events of the run. The browser reconnects by itself and names the last event that it had. */
export const openLiveStore = (onChange: () => void): LiveStore => {
  const source = new EventSource('/api/live')
  let run: LiveRunState | null | undefined
  let report: number | null | undefined
  let last: FolderState | undefined
  let isLost = false
  const listen = <T>(type: string, apply: (data: T) => LiveRunState | null | undefined): void =>
    source.addEventListener(type, (event: Event) => {
      run = apply(JSON.parse((event as MessageEvent).data) as T)
      onChange()
    })
  const setLost = (value: boolean): void => {
    if (isLost === value) return
    isLost = value
    onChange()
  }
  listen<LiveSnapshot>('snapshot', (snapshot) => {
    report = snapshot.report
    last = snapshot.state
    followDays(report)
    markSimulated(snapshot)
    return snapshot.run
  })
  listen<LiveChange>('change', (change) => run && applyChange(run, change))
  source.addEventListener('open', () => setLost(false))
  source.addEventListener('error', () => setLost(true))
  return { run: () => run, report: () => report, last: () => last, isLost: () => isLost, close: () => source.close() }
}

/** Whether data is simulated, as the frame and the commands of the page read it. */
const markSimulated = ({ isSimulated }: Pick<FolderState, 'isSimulated'>): void =>
  void document.documentElement.toggleAttribute('data-simulated', isSimulated)

/** How the folder stands; once the server has ended, how it stood then. */
export const loadState = async (store: LiveStore | undefined, signal: AbortSignal): Promise<FolderState> => {
  const state = store?.last() ?? (await fetchJson<FolderState>('/api/state', { signal }))
  markSimulated(state)
  return state
}
